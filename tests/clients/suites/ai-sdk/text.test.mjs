// Tools, objects, thinking, pictures, errors and aborted streams.
import assert from "node:assert/strict";
import { test } from "node:test";
import { APICallError, generateObject, generateText, isStepCount, streamText } from "ai";
import { anex, mediaModel, model } from "./client.mjs";
import { prompt, weather } from "./rivers.mjs";

test("a tool is run and its result told, whole and streamed", async () => {
  const asked = { model, prompt, tools: { get_weather: weather }, stopWhen: isStepCount(3) };
  const whole = await generateText(asked);
  assert.equal(whole.steps.length, 2);
  assert.match(whole.text, /Sunny in Paris\./);
  const stream = streamText(asked);
  assert.match((await Array.fromAsync(stream.textStream)).join(""), /Sunny in Paris\./);
});

test("an object without a schema is an object", async () => {
  const { object } = await generateObject({ model, prompt: "Anything.", output: "no-schema" });
  assert.equal(typeof object, "object");
});

test("thinking is told apart", async () => {
  const { reasoningText, text } = await generateText({
    model,
    prompt: "Think.",
    providerOptions: { anex: { reasoningEffort: "low" } },
  });
  assert.ok(reasoningText);
  assert.ok(!text.includes(reasoningText));
});

test("settings are taken", async () => {
  const { text } = await generateText({
    model,
    system: "Be brief.",
    prompt: "Name a river.",
    temperature: 0.5,
    topP: 0.9,
    frequencyPenalty: 0.1,
    presencePenalty: 0.1,
    stopSequences: ["never"],
    seed: 1,
  });
  assert.ok(text);
});

test("a picture is read", async () => {
  const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const image = { type: "file", data: Buffer.from(pixel, "base64"), mediaType: "image/png" };
  const content = [{ type: "text", text: "What is it?" }, image];
  assert.ok((await generateText({ model: mediaModel, messages: [{ role: "user", content }] })).text);
});

test("errors carry their status and are retried only where it can help", async () => {
  for (const [name, status, retryable] of [["nobody", 404, false], ["scripted-embed", 400, false]]) {
    await assert.rejects(generateText({ model: anex(name), prompt, maxRetries: 2 }), (error) => {
      assert.ok(APICallError.isInstance(error));
      assert.deepEqual([error.statusCode, error.isRetryable], [status, retryable]);
      assert.ok(error.message);
      return true;
    });
  }
});

test("aborted streams free their places", async () => {
  for (let round = 0; round < 2; round += 1) {
    const leaving = Array.from({ length: 8 }, async () => {
      const controller = new AbortController();
      const stream = streamText({
        model,
        prompt: "[[tokens 400]] [[pace 50]]",
        abortSignal: controller.signal,
        // On a busy machine a place may be free a little later.
        maxRetries: 5,
        onError: () => {},
      });
      for await (const piece of stream.textStream) {
        assert.ok(piece);
        controller.abort();
        break;
      }
    });
    await Promise.all(leaving);
  }
  assert.ok((await generateText({ model, prompt: "Hi.", maxRetries: 5 })).text);
});
