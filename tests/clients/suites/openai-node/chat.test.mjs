// Chat: parameters, tools, formats, media, and streams that end early.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";
import { anex, client, clock, connect, says, weather } from "./client.mjs";

const paris = says('What is the weather in "Paris"?');
const named = { type: "function", function: { name: "get_weather" } };
const ask = (asked) => client.chat.completions.create({ model: anex.chat, messages: says("Name a river."), ...asked });

test("every parameter is taken, and what is out of range is named", async () => {
  const reply = await ask({
    temperature: 1,
    top_p: 1,
    max_completion_tokens: 20,
    stop: ["never"],
    seed: 1,
    frequency_penalty: 0,
    presence_penalty: 0,
    logprobs: true,
    top_logprobs: 1,
    n: 1,
    reasoning_effort: "none",
    user: "u",
    store: false,
    metadata: { a: "b" },
    service_tier: "auto",
  });
  const told = reply.choices[0];
  assert.equal(told.logprobs.content.map((entry) => entry.token).join(""), told.message.content);
  for (const [name, value] of Object.entries({ temperature: 3, n: 2, logit_bias: { 1: 1 }, top_logprobs: 30 })) {
    await assert.rejects(ask({ [name]: value }), (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.deepEqual([error.param, error.code], [name, "invalid_request"]);
      return true;
    });
  }
});

test("tools are called as each tool_choice says, whole and streamed", async () => {
  const tools = [weather, clock];
  for (const [tool_choice, reason, calls] of [
    ["auto", "tool_calls", 1],
    ["required", "tool_calls", 1],
    [named, "stop", 1],
    ["none", "stop", 0],
  ]) {
    const whole = (await ask({ messages: paris, tools, tool_choice })).choices[0];
    const streamed = client.chat.completions.stream({ model: anex.chat, messages: paris, tools, tool_choice });
    const gathered = (await streamed.finalChatCompletion()).choices[0];
    for (const choice of [whole, gathered]) {
      assert.equal(choice.finish_reason, reason);
      assert.equal(choice.message.tool_calls?.length ?? 0, calls);
    }
    const [mine, theirs] = [whole, gathered].map((choice) =>
      choice.message.tool_calls?.map(({ function: { name, arguments: given } }) => [name, given]),
    );
    assert.deepEqual(mine, theirs);
  }
});

test("runTools goes on until the answer is text", async () => {
  const runner = client.chat.completions.runTools({
    model: anex.chat,
    messages: paris,
    tools: [
      {
        type: "function",
        function: { ...weather.function, function: ({ city }) => `Sunny in ${city}.`, parse: JSON.parse },
      },
    ],
  });
  assert.match(await runner.finalContent(), /Sunny in Paris\./);
});

test("parallel calls have an index each", async () => {
  const stream = client.chat.completions.stream({
    model: anex.chat,
    messages: says('Use the weather of "Paris" and the clock. [[calls 2]]'),
    tools: [weather, clock],
  });
  const { message } = (await stream.finalChatCompletion()).choices[0];
  assert.deepEqual(message.tool_calls.map((call) => call.function.name), ["get_weather", "read_clock"]);
  assert.equal(new Set(message.tool_calls.map((call) => call.id)).size, 2);
});

test("an answer is parsed by its schema", async () => {
  const River = z.object({ name: z.string(), length: z.number().int() });
  const reply = await client.chat.completions.parse({
    model: anex.chat,
    messages: says("A river."),
    response_format: zodResponseFormat(River, "river"),
  });
  assert.equal(typeof reply.choices[0].message.parsed.name, "string");
});

test("thinking stands beside the text", async () => {
  const { message } = (await ask({ reasoning_effort: "low" })).choices[0];
  assert.ok(message.reasoning_content);
  assert.ok(!message.content.includes(message.reasoning_content));
});

test("a picture inline is read", async () => {
  const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const image_url = { url: `data:image/png;base64,${pixel}` };
  const content = [{ type: "text", text: "What is it?" }, { type: "image_url", image_url }];
  const reply = await ask({ model: anex.media, messages: says(content) });
  assert.ok(reply.choices[0].message.content);
});

test("streams that are aborted free their places", async () => {
  const slow = { model: anex.chat, messages: says("[[tokens 400]] [[pace 50]]"), stream: true };
  // On a busy machine a place may be free a little later.
  const patient = connect({ maxRetries: 8 });
  for (let round = 0; round < 3; round += 1) {
    const streams = await Promise.all(Array.from({ length: 8 }, () => patient.chat.completions.create(slow)));
    for (const stream of streams) {
      for await (const chunk of stream) {
        assert.ok(chunk.id);
        break;
      }
      stream.controller.abort();
    }
  }
  assert.ok((await patient.chat.completions.create({ ...slow, messages: says("Hi."), stream: false })).choices);
});

test("an answer that breaks off throws", async () => {
  const stream = await ask({ messages: says("[[tokens 30]] [[cut]]"), stream: true });
  await assert.rejects(Array.fromAsync(stream), OpenAI.APIError);
});

test("eleven seconds of silence are survived", async () => {
  const stream = await connect({ timeout: 10_500 }).chat.completions.create({
    model: anex.chat,
    messages: says("[[sleep 11000]] Hi."),
    stream: true,
  });
  const chunks = await Array.fromAsync(stream);
  assert.equal(chunks.at(-1).choices[0].finish_reason, "stop");
});
