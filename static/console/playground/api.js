// Asks the platform's own API for this person. The key lives in this module alone, and is asked for again when refused.

const page = document.querySelector("[data-playground]");
const BILL_TRIES = 20;
const BILL_PAUSE_MS = 250;

let key = "";

export class Refused extends Error {}

async function freshKey() {
  const answer = await fetch(page.dataset.keyUrl, {
    method: "POST",
    headers: { "X-CSRFToken": page.querySelector("[name=csrfmiddlewaretoken]").value },
    body: new URLSearchParams({ organization: page.dataset.organization }),
  });
  const body = await answer.json().catch(() => ({}));
  if (!body.key) throw new Refused(body.detail || "You are signed out. Reload the page to sign in again.");
  return body.key;
}

// The answer to a request, whatever its status.
async function post(body, signal) {
  const send = () =>
    fetch(page.dataset.path, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
  const isNew = !key;
  if (isNew) key = await freshKey();
  const answer = await send();
  if (answer.status !== 401 || isNew) return answer;
  key = await freshKey();
  return send();
}

// The answer to a request that was taken; throws Refused with the server's sentence for any other.
export async function ask(body, signal) {
  const answer = await post(body, signal);
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  throw new Refused(told.error?.message || told.detail || `The server answered ${answer.status}. Try again.`);
}

// The pieces of a streamed chat, as they come.
export async function* events(answer) {
  const decoder = new TextDecoder();
  const reader = answer.body.getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Refused("The answer broke off. Send it again.");
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line === "data: [DONE]") return;
      if (line.startsWith("data: ")) yield JSON.parse(line.slice(6));
    }
  }
}

// What a request used and cost by the books, or null where they do not say in time.
export async function bill(answer) {
  const url = page.dataset.billUrl.replace("REQUEST", answer.headers.get("x-request-id"));
  for (let tries = 0; tries < BILL_TRIES; tries += 1) {
    const told = await fetch(url).then((found) => (found.ok ? found.json() : {}));
    if (told.settled) return told;
    await new Promise((resolve) => setTimeout(resolve, BILL_PAUSE_MS));
  }
  return null;
}
