// The client's everyday calls; also against the models of `make demo`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { anex, asBatch, client, finished, lines, read, says, upload } from "./client.mjs";

const asked = { model: anex.chat, messages: says("Name a river."), max_tokens: 16, temperature: 0, seed: 1 };

test("an answer has text and its counts add up", async () => {
  const reply = await client.chat.completions.create(asked);
  assert.ok(reply.choices[0].message.content);
  assert.equal(reply.usage.total_tokens, reply.usage.prompt_tokens + reply.usage.completion_tokens);
  assert.ok(reply._request_id);
});

test("a stream is the whole answer in pieces, usage last", async () => {
  const whole = await client.chat.completions.create(asked);
  const chunks = await Array.fromAsync(
    await client.chat.completions.create({ ...asked, stream: true, stream_options: { include_usage: true } }),
  );
  const last = chunks.pop();
  assert.deepEqual(last.choices, []);
  assert.equal(last.usage.completion_tokens, whole.usage.completion_tokens);
  assert.equal(chunks.map((chunk) => chunk.choices[0].delta.content ?? "").join(""), whole.choices[0].message.content);
  assert.deepEqual(
    chunks.map((chunk) => chunk.choices[0].finish_reason).filter(Boolean),
    [whole.choices[0].finish_reason],
  );
});

test("vectors are unit vectors, the same by default and as floats", async () => {
  const input = ["a red bicycle", "a blue car"];
  const packed = await client.embeddings.create({ model: anex.embedding, input });
  const plain = await client.embeddings.create({ model: anex.embedding, input, encoding_format: "float" });
  for (const [index, { embedding }] of packed.data.entries()) {
    assert.ok(Math.abs(Math.hypot(...embedding) - 1) < 1e-4);
    embedding.forEach((value, at) => assert.ok(Math.abs(value - plain.data[index].embedding[at]) < 1e-6));
  }
});

test("models are listed and retrieved", async () => {
  const listed = await Array.fromAsync(client.models.list());
  assert.ok(listed.some((model) => model.id === anex.chat));
  assert.equal((await client.models.retrieve(anex.chat)).object, "model");
});

test("a file becomes a batch, and its answers come back in order", async () => {
  const file = await upload(lines("Name a river.", "Name a lake."));
  assert.equal(await (await client.files.content(file.id)).text(), lines("Name a river.", "Name a lake."));
  const made = await client.batches.create({ ...asBatch(file), metadata: { team: "blue" } });
  assert.equal(made.status, "validating");
  const batch = await finished(made.id);
  assert.deepEqual([batch.status, batch.metadata, batch.error_file_id], ["completed", { team: "blue" }, null]);
  const output = await read(batch.output_file_id);
  assert.deepEqual(output.map((line) => line.custom_id), ["row-0", "row-1"]);
  assert.ok(output.every((line) => line.response.body.choices[0].message.content));
  const used = output.reduce((sum, line) => sum + line.response.body.usage.total_tokens, 0);
  assert.equal(batch.usage.total_tokens, used);
});
