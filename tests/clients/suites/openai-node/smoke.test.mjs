// The client's everyday calls; also against the models of `make demo`.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";

const { ANEX_BASE_URL: baseURL, ANEX_API_KEY: apiKey, ANEX_CHAT_MODEL: model } = process.env;
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const messages = [{ role: "user", content: "Name a river." }];

test("an answer has text and its counts add up", async () => {
  const reply = await client.chat.completions.create({ model, messages, max_tokens: 16 });
  assert.ok(reply.choices[0].message.content);
  assert.equal(reply.usage.total_tokens, reply.usage.prompt_tokens + reply.usage.completion_tokens);
});
