// What both providers answer alike: the compatible one, which speaks chat, and the default one, which speaks Responses.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Output, generateObject, generateText, streamObject, streamText, tool } from "ai";
import { z } from "zod";
import { model as chat, responses } from "./client.mjs";
import { River, prompt } from "./rivers.mjs";

for (const [name, model] of Object.entries({ chat, responses })) {
  test(`toolChoice is kept by ${name}`, async () => {
    const tools = { get_weather: tool({ inputSchema: z.object({ city: z.string() }) }) };
    for (const [toolChoice, calls] of [
      ["auto", 1],
      ["required", 1],
      [{ type: "tool", toolName: "get_weather" }, 1],
      ["none", 0],
    ]) {
      const { toolCalls, text } = await generateText({ model, prompt, tools, toolChoice });
      assert.equal(toolCalls.length, calls);
      assert.equal(Boolean(text), !calls);
    }
  });

  test(`objects follow their schema, whole and streamed, by ${name}`, async () => {
    const asked = { model, prompt: 'Tell of "Rhine".', schema: River };
    const { object } = await generateObject(asked);
    assert.equal(object.name, "Rhine");
    const stream = streamObject(asked);
    await Array.fromAsync(stream.partialObjectStream);
    assert.deepEqual(await stream.object, object);
    const { schema, ...rest } = asked;
    assert.deepEqual((await generateText({ ...rest, output: Output.object({ schema }) })).output, object);
  });

  test(`an answer of ${name} that breaks off is an error of the stream`, async () => {
    const errors = [];
    const stream = streamText({
      model,
      prompt: "[[tokens 30]] [[cut]]",
      maxRetries: 0,
      onError: ({ error }) => errors.push(error),
    });
    const parts = await Array.fromAsync(stream.fullStream);
    assert.ok(parts.some((part) => part.type === "text-delta"));
    assert.ok(parts.some((part) => part.type === "error"));
    assert.equal(errors.length, 1);
  });
}
