// How alike texts are: the cosine of each pair of their vectors, as a table.

import { form, model, parameters } from "./form.js";
import { answerAtOnce } from "./once.js";

const MOST_TEXTS = 8;
const list = document.querySelector("[data-texts]");
const blank = document.querySelector("template[data-text-field]");
const table = document.querySelector("[data-matrix]");

const fields = () => [...list.querySelectorAll("textarea")];
const texts = () => fields().map((field) => field.value.trim()).filter(Boolean);

function request() {
  return { model: model(), input: texts(), ...parameters(), encoding_format: "float" };
}

function cosine(a, b) {
  let [dot, ofA, ofB] = [0, 0, 0];
  for (let place = 0; place < a.length; place += 1) {
    dot += a[place] * b[place];
    ofA += a[place] * a[place];
    ofB += b[place] * b[place];
  }
  return dot / Math.sqrt(ofA * ofB || 1);
}

function cell(kind, text, scope) {
  const made = document.createElement(kind);
  made.textContent = text;
  if (scope) made.scope = scope;
  return made;
}

function render(answer) {
  const vectors = answer.data.map((entry) => entry.embedding);
  const head = document.createElement("tr");
  head.append(cell("td", ""), ...vectors.map((_, place) => cell("th", `Text ${place + 1}`, "col")));
  const rows = vectors.map((vector, place) => {
    const row = document.createElement("tr");
    row.append(cell("th", `Text ${place + 1}`, "row"));
    row.append(...vectors.map((other) => cell("td", cosine(vector, other).toFixed(3))));
    return row;
  });
  table.querySelector("thead").replaceChildren(head);
  table.querySelector("tbody").replaceChildren(...rows);
  table.querySelector("[data-width]").textContent = vectors[0].length.toLocaleString();
  table.hidden = false;
}

function number() {
  const all = fields();
  for (const [place, field] of all.entries()) {
    field.id = `text-${place + 1}`;
    const label = field.closest("[data-text]").querySelector("label");
    label.htmlFor = field.id;
    label.querySelector("[data-number-of]").textContent = String(place + 1);
    field.closest("[data-text]").querySelector("[data-remove]").hidden = all.length < 3;
  }
  document.querySelector("[data-add-text]").hidden = all.length >= MOST_TEXTS;
}

document.querySelector("[data-add-text]").addEventListener("click", () => {
  list.append(blank.content.cloneNode(true));
  number();
  fields().at(-1).focus();
});
list.addEventListener("click", (event) => {
  if (!event.target.closest("[data-remove]")) return;
  event.target.closest("[data-text]").remove();
  number();
  fields().at(-1).focus();
  form.dispatchEvent(new Event("input"));
});
number();
answerAtOnce(request, render);
