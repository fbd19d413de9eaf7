// The default provider `openai(model)`, which speaks the Responses API: tools, objects, thinking, conversations.
import assert from "node:assert/strict";
import { test } from "node:test";
import { APICallError, generateText, isStepCount, streamText } from "ai";
import { responses as model, second } from "./client.mjs";
import { prompt, weather } from "./rivers.mjs";

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
