// The everyday calls; also against the models of `make demo`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cosineSimilarity, embedMany, generateText, streamText } from "ai";
import { embedder, model, responses } from "./client.mjs";

test("generateText has text and counts", async () => {
  const { text, usage, finishReason } = await generateText({ model, prompt: "Name a river.", maxOutputTokens: 16 });
  assert.ok(text);
  assert.ok(usage.outputTokens > 0 && usage.outputTokens <= 16);
  assert.equal(usage.totalTokens, usage.inputTokens + usage.outputTokens);
  assert.ok(["stop", "length"].includes(finishReason));
});

test("streamText is the same text in pieces, with counts", async () => {
  const asked = { model, prompt: "Name a river.", maxOutputTokens: 12, temperature: 0, seed: 1 };
  const whole = await generateText(asked);
  const stream = streamText(asked);
  assert.equal((await Array.fromAsync(stream.textStream)).join(""), whole.text);
  assert.equal((await stream.usage).outputTokens, whole.usage.outputTokens);
});

test("the default provider has the same text, whole and streamed", async () => {
  const asked = { prompt: "Name a river.", maxOutputTokens: 12, temperature: 0 };
  const chat = await generateText({ ...asked, model });
  const whole = await generateText({ ...asked, model: responses });
  assert.equal(whole.text, chat.text);
  assert.equal(whole.usage.outputTokens, chat.usage.outputTokens);
  const stream = streamText({ ...asked, model: responses });
  assert.equal((await Array.fromAsync(stream.textStream)).join(""), whole.text);
  assert.equal((await stream.usage).outputTokens, whole.usage.outputTokens);
});

test("embedMany keeps the order", async () => {
  const { embeddings } = await embedMany({ model: embedder, values: ["a red bicycle", "a blue car", "a red bicycle"] });
  assert.equal(embeddings.length, 3);
  assert.ok(cosineSimilarity(embeddings[0], embeddings[2]) > 0.9999);
  assert.ok(cosineSimilarity(embeddings[0], embeddings[1]) < 0.9999);
});
