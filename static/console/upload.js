// A new job: looks at the first rows, sends the file straight to the store, then submits the form that names it.

import { isParquet, look, mismatch, taskOf } from "./rows.js";

const form = document.querySelector("form[data-upload]");
const part = (name) => form.querySelector(`[data-${name}]`);
const picker = form.querySelector("input[type=file]");
const drop = part("drop");
const button = part("submit");
const bar = part("upload-progress");
const AVERAGED_MS = 4000;
const STOPPED = "The upload was stopped.";

let told = null;
let request = null;
let picked = false;
let stopped = false;

function size(bytes) {
  const units = ["bytes", "kB", "MB", "GB"];
  let unit = 0;
  while (bytes >= 1000 && unit < units.length - 1) {
    bytes /= 1000;
    unit += 1;
  }
  return `${unit ? bytes.toFixed(1) : bytes} ${units[unit]}`;
}

function left(seconds) {
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 60) return `${Math.ceil(seconds)} s left`;
  return seconds < 5400 ? `${Math.ceil(seconds / 60)} min left` : `${(seconds / 3600).toFixed(1)} h left`;
}

function complain(problems) {
  const items = problems.map((problem) => {
    const item = document.createElement("li");
    item.textContent = problem;
    return item;
  });
  part("file-problem").replaceChildren(...items);
  part("file-problems").hidden = !problems.length;
  picker.setAttribute("aria-invalid", String(problems.length > 0));
}

// The model that is chosen, as the page tells it.
function model() {
  const chosen = form.querySelector("input[name=model]:checked");
  return chosen && { id: chosen.value, url: chosen.dataset.url, inputs: chosen.dataset.inputs.split(" ") };
}

// Rows say what they ask for, so the first model that answers it is taken until somebody picks one.
function suggest() {
  if (picked || !told.url || model()?.url === told.url) return;
  const other = form.querySelector(`input[name=model][data-url="${told.url}"]`);
  if (!other) return;
  other.checked = true;
  other.dispatchEvent(new Event("change", { bubbles: true }));
}

function judge() {
  const problems = told.problems.length ? told.problems : [mismatch(told, model())].filter(Boolean);
  complain(problems);
  return problems;
}

const namesFile = () => form.elements.input_id?.value;

async function choose() {
  const [file] = picker.files;
  told = null;
  if (!file) return;
  part("input")?.remove();
  if (form.elements.source_url) form.elements.source_url.value = "";
  told = await look(file);
  part("file-name").textContent = file.name;
  const looked = told.rows ? ` · the first ${told.rows} rows are ${taskOf(told)} requests` : "";
  part("file-hint").textContent = `${size(file.size)}${told.problems.length ? "" : looked}`;
  suggest();
  judge();
}

async function target(file) {
  const answer = await fetch(form.dataset.upload, {
    method: "POST",
    headers: { "X-CSRFToken": form.elements.csrfmiddlewaretoken.value },
    body: new URLSearchParams({ format: isParquet(file) ? "parquet" : "jsonl" }),
  });
  const body = await answer.json().catch(() => ({}));
  if (!body.url) throw new Error(body.detail || "The upload could not be started. Reload the page and try again.");
  return body;
}

// How fast it went over the last seconds.
function pace() {
  const marks = [];
  return (bytes) => {
    const now = performance.now();
    marks.push([now, bytes]);
    while (marks.length > 2 && now - marks[0][0] > AVERAGED_MS) marks.shift();
    const [since, before] = marks[0];
    return ((bytes - before) / (now - since || 1)) * 1000;
  };
}

function send(file, { url, fields }) {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  data.append("file", file);
  const speed = pace();
  request = new XMLHttpRequest();
  return new Promise((resolve, reject) => {
    request.upload.addEventListener("progress", (event) => {
      const percent = Math.floor((100 * event.loaded) / event.total);
      const now = speed(event.loaded);
      bar.querySelector("progress").value = percent;
      part("upload-percent").textContent = `${percent} % of ${size(file.size)}`;
      part("upload-speed").textContent = now ? `${size(Math.round(now))}/s` : "";
      part("upload-left").textContent = now ? left((event.total - event.loaded) / now) : "";
    });
    request.addEventListener("load", () =>
      request.status < 300 ? resolve() : reject(new Error(`The store refused the file (${request.status}). Try again.`)),
    );
    request.addEventListener("error", () => reject(new Error("The connection was lost during the upload. Try again.")));
    request.addEventListener("abort", () => reject(new Error(STOPPED)));
    request.open("POST", url);
    request.send(data);
  });
}

function name(inputId) {
  const named = document.createElement("input");
  Object.assign(named, { type: "hidden", name: "input_id", value: inputId });
  form.append(named);
}

async function upload(file) {
  button.disabled = true;
  bar.hidden = false;
  stopped = false;
  window.addEventListener("beforeunload", hold);
  try {
    const place = await target(file);
    if (stopped) throw new Error(STOPPED);
    await send(file, place);
    window.removeEventListener("beforeunload", hold);
    name(place.input_id);
    form.submit();
  } catch (error) {
    bar.hidden = true;
    button.disabled = false;
    complain([error.message]);
  }
  window.removeEventListener("beforeunload", hold);
}

const hold = (event) => event.preventDefault();

async function submit(event) {
  // Buttons with a way of their own go it.
  if (event.submitter?.hasAttribute("formaction") || namesFile()) return;
  const [file] = picker.files;
  if (!file && form.elements.source_url?.value) return;
  event.preventDefault();
  if (!file) {
    complain(["Choose a file, name a URL, or take a sample."]);
    picker.focus();
    return;
  }
  told ??= await look(file);
  if (!judge().length) upload(file);
}

// A model's own limits on the options it takes.
function limit() {
  const { dataset } = form.querySelector("input[name=model]:checked") ?? { dataset: {} };
  const levels = (dataset.efforts ?? "").split(" ");
  for (const option of form.elements.reasoning_effort?.options ?? []) {
    option.hidden = option.disabled = option.value !== "" && !levels.includes(option.value);
    if (option.disabled && option.selected) option.parentElement.value = "";
  }
  const limits = {
    max_output_tokens: { max: dataset.mostOutput },
    dimensions: { min: dataset.narrowest, max: dataset.widest },
    video_fps: { max: dataset.mostFps },
  };
  for (const [field, ends] of Object.entries(limits)) {
    const input = form.elements[field];
    if (!input) continue;
    for (const [end, value] of Object.entries(ends)) if (value) input[end] = value;
    input.placeholder = ends.max ? `${ends.min ?? 1} to ${Number(ends.max).toLocaleString()}` : "";
  }
}

picker.addEventListener("change", choose);
form.addEventListener("submit", submit);
part("upload-stop").addEventListener("click", () => {
  stopped = true;
  request?.abort();
});
form.addEventListener("change", (event) => {
  if (event.target.name !== "model") return;
  picked ||= event.isTrusted;
  limit();
  if (told) judge();
});
for (const kind of ["dragenter", "dragover"]) drop.addEventListener(kind, () => drop.classList.add("is-over"));
for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("is-over"));
// A copy that was asked for with the job goes on to its price by itself.
document.addEventListener("htmx:afterSettle", () => {
  const state = part("input");
  if (state?.hasAttribute("data-ready") && state.hasAttribute("data-awaited")) form.requestSubmit(button);
});
limit();
