// What is set on the page: the model, and of the parameters those with a value.

const page = document.querySelector("[data-playground]");
export const form = page.querySelector("form[data-ask]");

function thought(value) {
  if (value === "off") return { enabled: false };
  return value === "on" ? { enabled: true } : { effort: value };
}

export function parameters() {
  const given = {};
  for (const field of form.querySelectorAll("[data-number]")) {
    if (field.value.trim() && field.validity.valid) given[field.name] = Number(field.value);
  }
  const stop = form.elements.stop?.value.split("\n").filter(Boolean) ?? [];
  if (stop.length) given.stop = stop;
  if (form.elements.thinking?.value) given.reasoning = thought(form.elements.thinking.value);
  if (form.elements.as_json?.checked) given.response_format = { type: "json_object" };
  return given;
}

export const model = () => form.elements.model.value;

const settings = () => [...form.querySelectorAll("#parameters :is(input, select, textarea):not([name=model])")];

// Runs on every change of the form. Another model brings its own parameters; those both take keep their values.
export function watch(changed) {
  const kept = new Map();
  form.addEventListener("input", changed);
  document.addEventListener("htmx:beforeSwap", () => {
    for (const field of settings()) kept.set(field.name, [field.value, field.checked]);
  });
  document.addEventListener("htmx:afterSettle", () => {
    for (const field of settings()) {
      if (kept.has(field.name)) [field.value, field.checked] = kept.get(field.name);
    }
    changed();
  });
  changed();
  // Without this module nothing is sent anywhere.
  form.querySelector("[data-send]").disabled = false;
}

export const say = (text) => {
  page.querySelector("[data-said]").textContent = text;
};

export function complain(text) {
  const place = page.querySelector("[data-problem]");
  place.hidden = !text;
  place.querySelector("p").textContent = text;
}

// While a request is under way there is a stop button in place of the one that sends.
export function busy(on) {
  form.querySelector("[data-send]").hidden = on;
  const stop = form.querySelector("[data-stop]");
  if (stop) stop.hidden = !on;
  page.setAttribute("aria-busy", String(on));
}

export const isBusy = () => page.getAttribute("aria-busy") === "true";

export const tokens = (count) => `${count.toLocaleString()} token${count === 1 ? "" : "s"}`;
