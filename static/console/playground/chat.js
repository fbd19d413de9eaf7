// A conversation with a model: streamed, stopped with a button or Escape, each answer with what it took and cost.

import { ask, bill, events, Refused } from "./api.js";
import { show } from "./code.js";
import { busy, complain, form, isBusy, model, parameters, say, tokens, watch } from "./form.js";

const log = document.querySelector("[data-log]");
const blank = document.querySelector("template[data-message]");
const prompt = form.elements.prompt;
const turns = [];

let stopping = null;

function request(text) {
  const system = form.elements.system.value.trim();
  const asked = text ? [...turns, { role: "user", content: text }] : turns;
  return {
    model: model(),
    messages: system ? [{ role: "system", content: system }, ...asked] : asked,
    ...parameters(),
    stream: true,
    stream_options: { include_usage: true },
  };
}

// What would be sent now; with nothing written the last request stands, with the parameters as they are.
function draft() {
  const body = request(prompt.value.trim());
  if (prompt.value.trim() || !turns.length) return body;
  return { ...body, messages: body.messages.slice(0, -1) };
}

function add(role, text) {
  const message = blank.content.firstElementChild.cloneNode(true);
  const at = (name) => message.querySelector(`[data-${name}]`);
  at("role").textContent = role === "user" ? "You" : model();
  at("text").textContent = text;
  at("text").id = `message-${log.children.length}`;
  at("copy").dataset.copy = `#${at("text").id}`;
  message.toggleAttribute("data-mine", role === "user");
  log.append(message);
  return at;
}

async function follow(answer, at, took) {
  for await (const event of events(answer)) {
    if (event.error) throw new Refused(event.error.message);
    const delta = event.choices[0]?.delta ?? {};
    if (delta.reasoning_content) {
      at("thought").hidden = false;
      at("thinking").textContent += delta.reasoning_content;
    }
    took.first ||= delta.content || delta.reasoning_content ? performance.now() : 0;
    at("text").textContent += delta.content ?? "";
    log.lastElementChild.scrollIntoView({ block: "nearest" });
  }
}

function facts(began, took, ended, told) {
  const parts = told ? [`${tokens(told.input_tokens)} in, ${told.output_tokens.toLocaleString()} out`] : [];
  if (took.first) {
    parts.push(`first token after ${((took.first - began) / 1000).toFixed(2)} s`);
    const seconds = (ended - took.first) / 1000;
    if (told?.output_tokens > 1 && seconds > 0) {
      parts.push(`${((told.output_tokens - 1) / seconds).toFixed(1)} tokens/s`);
    }
  }
  parts.push(told ? told.cost : "cost: see Usage");
  return parts.join(" · ");
}

async function send(text) {
  stopping = new AbortController();
  busy(true);
  complain("");
  const body = request(text);
  add("user", text);
  const at = add("assistant", "");
  const began = performance.now();
  const took = { first: 0 };
  let answer = null;
  say("Answering…");
  try {
    answer = await ask(body, stopping.signal);
    await follow(answer, at, took);
    say("Answered.");
  } catch (error) {
    const stopped = error.name === "AbortError";
    say(stopped ? "Stopped." : "");
    if (!stopped) complain(error instanceof Refused ? error.message : "The connection was lost. Send it again.");
  }
  const ended = performance.now();
  busy(false);
  keep(text, at("text").textContent);
  at("facts").textContent = answer ? facts(began, took, ended, await bill(answer)) : "No answer";
}

// What failed without a word is not part of the conversation: its text goes back where it was written.
function keep(asked, answered) {
  if (answered) {
    turns.push({ role: "user", content: asked }, { role: "assistant", content: answered });
  } else if (!prompt.value) {
    prompt.value = asked;
  }
  show(draft());
  prompt.focus();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = prompt.value.trim();
  if (!text || isBusy()) return;
  prompt.value = "";
  send(text);
});

prompt.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") stopping?.abort();
});
form.querySelector("[data-stop]").addEventListener("click", () => stopping?.abort());
document.querySelector("[data-clear]").addEventListener("click", () => {
  stopping?.abort();
  turns.length = 0;
  log.replaceChildren();
  complain("");
  say("The conversation is cleared.");
  prompt.focus();
  show(draft());
});
watch(() => show(draft()));
