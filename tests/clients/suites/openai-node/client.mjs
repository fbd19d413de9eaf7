// The client under test, and where the platform is.
import { setTimeout as pause } from "node:timers/promises";
import OpenAI, { toFile } from "openai";

const told = process.env;
export const anex = {
  baseURL: told.ANEX_BASE_URL,
  key: told.ANEX_API_KEY,
  poorKey: told.ANEX_POOR_KEY,
  narrowKey: told.ANEX_NARROW_KEY,
  chat: told.ANEX_CHAT_MODEL,
  embedding: told.ANEX_EMBEDDING_MODEL,
  media: told.ANEX_MEDIA_MODEL,
};

export function connect(options = {}) {
  return new OpenAI({ baseURL: anex.baseURL, apiKey: anex.key, maxRetries: 0, ...options });
}

// A client with the retries it has by itself, and the requests that it sent.
export function counted(options = {}) {
  const sent = [];
  const fetched = (url, init) => {
    sent.push(init.headers);
    return fetch(url, init);
  };
  return { sent, client: connect({ maxRetries: 2, fetch: fetched, ...options }) };
}

export const client = connect();
export const says = (content) => [{ role: "user", content }];
export const weather = {
  type: "function",
  function: {
    name: "get_weather",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};
export const clock = {
  type: "function",
  function: { name: "read_clock", parameters: { type: "object", properties: {} } },
};

// A file of chat requests, numbered, and a batch of it.
export const lines = (...texts) =>
  texts
    .map((text, row) => ({
      custom_id: `row-${row}`,
      method: "POST",
      url: "/v1/chat/completions",
      body: { model: anex.chat, messages: says(text), max_tokens: 16 },
    }))
    .map((line) => `${JSON.stringify(line)}\n`)
    .join("");
export const upload = async (text) =>
  client.files.create({ file: await toFile(Buffer.from(text), "requests.jsonl"), purpose: "batch" });
export const asBatch = ({ id }) => ({
  input_file_id: id,
  endpoint: "/v1/chat/completions",
  completion_window: "24h",
});

export async function finished(id) {
  const until = Date.now() + 120_000;
  for (;;) {
    const batch = await client.batches.retrieve(id);
    if (["completed", "failed", "expired", "cancelled"].includes(batch.status)) return batch;
    if (Date.now() > until) throw new Error(`still ${batch.status}`);
    await pause(200);
  }
}

export async function read(id) {
  const text = await (await client.files.content(id)).text();
  return text.trimEnd().split("\n").map((line) => JSON.parse(line));
}
