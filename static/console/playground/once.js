// A form that is answered at once, in one piece.

import { ask, bill, Refused } from "./api.js";
import { show } from "./code.js";
import { busy, complain, form, isBusy, say, tokens, watch } from "./form.js";

// `request` answers the body, `render` shows what came back.
export function answerAtOnce(request, render) {
  const facts = document.querySelector("[data-facts]");

  async function send() {
    busy(true);
    complain("");
    say("Asking…");
    const began = performance.now();
    try {
      const answer = await ask(request());
      render(await answer.json());
      const ms = Math.round(performance.now() - began);
      say("Answered.");
      const told = await bill(answer);
      facts.textContent = `${told ? `${tokens(told.input_tokens)} in · ` : ""}${ms} ms · ${told ? told.cost : "cost: see Usage"}`;
    } catch (error) {
      say("");
      complain(error instanceof Refused ? error.message : "The connection was lost. Try again.");
    }
    busy(false);
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!isBusy()) send();
  });
  watch(() => show(request()));
}
