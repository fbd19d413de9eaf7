// The client under test, and where the platform is.
import OpenAI from "openai";

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
