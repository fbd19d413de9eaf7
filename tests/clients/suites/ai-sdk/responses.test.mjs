// The default provider `openai(model)`, which speaks the Responses API: tools, objects, thinking, conversations.
import assert from "node:assert/strict";
import { test } from "node:test";
import { APICallError, Output, generateObject, generateText, isStepCount, streamObject, streamText, tool } from "ai";
import { z } from "zod";
import { responses as model, second } from "./client.mjs";

const weather = tool({
  description: "The weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `Sunny in ${city}.`,
});
const prompt = 'What is the weather in "Paris"?';
const River = z.object({ name: z.string(), length: z.number().int(), countries: z.array(z.string()) });

test("a loop of function tools needs no setting, whole and streamed, thinking or not", async () => {
  for (const effort of [undefined, "low"]) {
    const providerOptions = { openai: { reasoningEffort: effort, forceReasoning: effort && true } };
    const asked = { model, prompt, providerOptions, tools: { get_weather: weather }, stopWhen: isStepCount(3) };
    const whole = await generateText(asked);
    assert.equal(whole.steps.length, 2);
    assert.match(whole.text, /Sunny in Paris\./);
    const stream = streamText(asked);
    assert.match((await Array.fromAsync(stream.textStream)).join(""), /Sunny in Paris\./);
  }
});

test("toolChoice is kept", async () => {
  const tools = { get_weather: tool({ inputSchema: z.object({ city: z.string() }) }) };
  for (const [toolChoice, calls] of [
    ["required", 1],
    [{ type: "tool", toolName: "get_weather" }, 1],
    ["none", 0],
  ]) {
    const { toolCalls, text } = await generateText({ model, prompt, tools, toolChoice });
    assert.equal(toolCalls.length, calls);
    assert.equal(Boolean(text), !calls);
  }
});

test("objects follow their schema, whole and streamed", async () => {
  const asked = { model, prompt: 'Tell of "Rhine".', schema: River };
  const { object } = await generateObject(asked);
  assert.equal(object.name, "Rhine");
  const stream = streamObject(asked);
  await Array.fromAsync(stream.partialObjectStream);
  assert.deepEqual(await stream.object, object);
  const { schema, ...rest } = asked;
  assert.deepEqual((await generateText({ ...rest, output: Output.object({ schema }) })).output, object);
});

test("thinking is told apart", async () => {
  const providerOptions = { openai: { reasoningEffort: "low", forceReasoning: true } };
  const { reasoningText, text } = await generateText({ model, prompt: "Think.", providerOptions });
  assert.ok(reasoningText);
  assert.ok(!text.includes(reasoningText));
});

test("a further turn needs store: false, and is refused by name without it", async () => {
  const first = await generateText({ model, messages: [{ role: "user", content: "Hi." }] });
  const messages = [{ role: "user", content: "Hi." }, ...first.response.messages, { role: "user", content: "And?" }];
  const kept = await generateText({ model, messages, providerOptions: { openai: { store: false } } });
  assert.ok(kept.text);
  await assert.rejects(generateText({ model, messages, maxRetries: 0 }), (error) => {
    assert.ok(APICallError.isInstance(error));
    assert.deepEqual([error.statusCode, error.data.error.param], [400, "input[1]"]);
    return true;
  });
});

test("a loop with a custom tool needs store: false, and is refused by name without it", async () => {
  const execute = async (code) => `It printed ${code.length}.`;
  const asked = {
    model: second(process.env.ANEX_CHAT_MODEL),
    prompt: "Run the code 'print(1)'.",
    tools: { run_code: second.tools.customTool({ description: "Runs code.", execute }) },
    stopWhen: isStepCount(2),
    maxRetries: 0,
  };
  const providerOptions = { openai: { store: false } };
  const { steps, text } = await generateText({ ...asked, providerOptions });
  assert.equal(typeof steps[0].toolCalls[0].input, "string");
  assert.match(text, /It printed \d+\./);
  const stream = streamText({ ...asked, providerOptions });
  assert.match((await Array.fromAsync(stream.textStream)).join(""), /It printed \d+\./);
  await assert.rejects(generateText(asked), (error) => {
    assert.equal(error.data.error.param, "input[1]");
    return true;
  });
});

test("an answer that breaks off is an error of the stream", async () => {
  const errors = [];
  const stream = streamText({
    model,
    prompt: "[[tokens 30]] [[cut]]",
    maxRetries: 0,
    onError: ({ error }) => errors.push(error),
  });
  const parts = await Array.fromAsync(stream.fullStream);
  assert.ok(parts.some((part) => part.type === "text-delta"));
  assert.ok(errors.length);
});
