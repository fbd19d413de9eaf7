// A new job: checks the first rows, sends the file straight to the store, then submits the form that names it.

const CHECKED_ROWS = 20;
const CHECKED_BYTES = 1024 * 1024;

const form = document.querySelector("form[data-upload]");
const part = (name) => form.querySelector(`[data-${name}]`);
const picker = form.querySelector("input[type=file]");
const drop = form.querySelector(".drop");
const inputId = form.elements.input_id;
const button = part("submit");
const bar = part("upload-progress");

function size(bytes) {
  const units = ["bytes", "KB", "MB", "GB"];
  let unit = 0;
  while (bytes >= 1000 && unit < units.length - 1) {
    bytes /= 1000;
    unit += 1;
  }
  return `${unit ? bytes.toFixed(1) : bytes} ${units[unit]}`;
}

function complain(text) {
  part("file-problem").textContent = text;
  picker.setAttribute("aria-invalid", text ? "true" : "false");
}

function problemOf(line, seen) {
  let row;
  try {
    row = JSON.parse(line);
  } catch {
    return "is not valid JSON";
  }
  if (row === null || typeof row !== "object" || Array.isArray(row)) return "is not a JSON object";
  if (typeof row.custom_id !== "string" || !row.custom_id) return "has no custom_id";
  if (seen.has(row.custom_id)) return `repeats the custom_id “${row.custom_id}”`;
  seen.add(row.custom_id);
  return "";
}

const isParquet = (file) => file.name.toLowerCase().endsWith(".parquet");

async function firstProblem(file) {
  if (!file.size) return "This file is empty.";
  if (isParquet(file)) return (await file.slice(0, 4).text()) === "PAR1" ? "" : "This is not a parquet file.";
  const lines = (await file.slice(0, CHECKED_BYTES).text()).split("\n");
  if (file.size > CHECKED_BYTES) lines.pop();
  const seen = new Set();
  for (const [index, line] of lines.slice(0, CHECKED_ROWS).entries()) {
    if (!line && index === lines.length - 1) break;
    const problem = problemOf(line, seen);
    if (problem) return `Line ${index + 1} ${problem}.`;
  }
  return "";
}

async function choose() {
  const [file] = picker.files;
  inputId.value = "";
  if (!file) return;
  part("file-name").textContent = file.name;
  part("file-hint").textContent = size(file.size);
  complain(await firstProblem(file));
}

async function target(file) {
  const answer = await fetch(form.dataset.upload, {
    method: "POST",
    headers: { "X-CSRFToken": form.elements.csrfmiddlewaretoken.value },
    body: new URLSearchParams({ format: isParquet(file) ? "parquet" : "jsonl" }),
  });
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(body.detail || "The upload could not be started. Reload the page and try again.");
  return body;
}

function send(file, { url, fields }) {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  data.append("file", file);
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.upload.addEventListener("progress", (event) => {
      const percent = Math.floor((100 * event.loaded) / event.total);
      bar.querySelector("progress").value = percent;
      part("upload-percent").textContent = `${percent} % of ${size(file.size)}`;
      part("upload-speed").textContent = `${size(event.loaded / ((performance.now() - started) / 1000 || 1))}/s`;
    });
    request.addEventListener("load", () =>
      request.status < 300 ? resolve() : reject(new Error(`The store refused the file (${request.status}). Try again.`)),
    );
    request.addEventListener("error", () => reject(new Error("The connection was lost during the upload. Try again.")));
    request.open("POST", url);
    request.send(data);
  });
}

async function upload(event) {
  if (inputId.value) return;
  event.preventDefault();
  const [file] = picker.files;
  if (!file) {
    complain("Choose a file first.");
    picker.focus();
    return;
  }
  button.disabled = true;
  try {
    const problem = await firstProblem(file);
    if (problem) throw new Error(problem);
    complain("");
    bar.hidden = false;
    const place = await target(file);
    await send(file, place);
    inputId.value = place.input_id;
    form.submit();
  } catch (error) {
    bar.hidden = true;
    button.disabled = false;
    complain(error.message);
  }
}

picker.addEventListener("change", choose);
form.addEventListener("submit", upload);
for (const name of ["dragenter", "dragover"]) drop.addEventListener(name, () => drop.classList.add("is-over"));
for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("is-over"));
