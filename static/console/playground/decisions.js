// Questions about a text, and how likely each of their answers is, as bars.

import { form, model } from "./form.js";
import { answerAtOnce } from "./once.js";

const list = document.querySelector("[data-questions]");
const blank = document.querySelector("template[data-question-field]");
const answers = document.querySelector("[data-answers]");
const blankAnswer = document.querySelector("template[data-answer]");

const HINTS = {
  choice: "One option a line, as “key: what it means”.",
  noul: "Nothing, or what makes it true and false: “true: …” and “false: …”.",
  score: "One level a line, the lowest first.",
};

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

function options(text) {
  return Object.fromEntries(
    lines(text).map((line) => {
      const [key, ...rest] = line.split(":");
      return [key.trim(), rest.join(":").trim() || key.trim()];
    }),
  );
}

function question(place) {
  const value = (name) => place.querySelector(`[name=${name}]`).value;
  const asked = { type: value("type"), instructions: value("instructions").trim() };
  const criteria = value("criteria");
  if (asked.type === "score") return { ...asked, criteria: lines(criteria) };
  return asked.type === "noul" && !criteria.trim() ? asked : { ...asked, criteria: options(criteria) };
}

const places = () => [...list.querySelectorAll("[data-question]")];

function request() {
  const asked = places().map((place) => [place.querySelector("[name=question]").value.trim(), question(place)]);
  return { model: model(), state: form.elements.state.value, questions: Object.fromEntries(asked.filter(([name]) => name)) };
}

function shares(answer) {
  if (answer.type === "noul") return { yes: answer.noul, no: 1 - answer.noul };
  return answer.probabilities;
}

function verdict(answer) {
  if (answer.type === "choice") return answer.choice;
  if (answer.type === "noul") return answer.noul >= 0.5 ? "yes" : "no";
  return `${answer.score.toFixed(2)} of ${Object.keys(answer.legend).length - 1}`;
}

function rendered(name, answer) {
  const shown = blankAnswer.content.firstElementChild.cloneNode(true);
  shown.querySelector("[data-name]").textContent = name;
  shown.querySelector("[data-verdict]").textContent = verdict(answer);
  const bars = shown.querySelector("tbody");
  const blankBar = bars.querySelector("tr");
  bars.replaceChildren(
    ...Object.entries(shares(answer)).map(([option, share]) => {
      const bar = blankBar.cloneNode(true);
      const told = answer.legend?.[option] ?? option;
      bar.querySelector("th").textContent = told;
      bar.querySelector("progress").value = share;
      bar.querySelector("progress").setAttribute("aria-label", told);
      bar.querySelector("[data-share]").textContent = `${(100 * share).toFixed(1)} %`;
      return bar;
    }),
  );
  return shown;
}

function render(answer) {
  answers.replaceChildren(...Object.entries(answer.answers).map(([name, told]) => rendered(name, told)));
  document.querySelector("[data-answered]").hidden = false;
}

function hint() {
  for (const [number, place] of places().entries()) {
    for (const field of place.querySelectorAll("[name]")) {
      field.id = `${field.name}-${number}`;
      place.querySelector(`[data-label=${field.name}]`).htmlFor = field.id;
    }
    place.querySelector("[data-hint]").textContent = HINTS[place.querySelector("[name=type]").value];
    place.querySelector("[data-remove]").hidden = places().length < 2;
  }
}

document.querySelector("[data-add-question]").addEventListener("click", () => {
  list.append(blank.content.cloneNode(true));
  hint();
  places().at(-1).querySelector("[name=question]").focus();
});
list.addEventListener("click", (event) => {
  if (!event.target.closest("[data-remove]")) return;
  event.target.closest("[data-question]").remove();
  hint();
  form.dispatchEvent(new Event("input"));
});
list.addEventListener("change", hint);
hint();
answerAtOnce(request, render);
