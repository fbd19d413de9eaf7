// Files and batches: failures, cancelling, pages, and what is refused. The straight way is in smoke.test.mjs.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import OpenAI from "openai";
import { asBatch, client, finished, lines, read, upload } from "./client.mjs";

test("a batch with failed requests has two files and each id once", async () => {
  const file = await upload(lines("Hi.", "[[status 400]]", "Hi again."));
  const batch = await finished((await client.batches.create(asBatch(file))).id);
  assert.deepEqual([batch.status, batch.request_counts], ["completed", { total: 3, completed: 2, failed: 1 }]);
  const [output, errors] = [await read(batch.output_file_id), await read(batch.error_file_id)];
  assert.deepEqual(output.map((line) => line.custom_id), ["row-0", "row-2"]);
  assert.deepEqual(errors.map((line) => [line.custom_id, line.response]), [["row-1", null]]);
});

test("a cancelled batch is over and stays so", async () => {
  const file = await upload(lines(...Array(40).fill("[[sleep 300]] Hi.")));
  const { id } = await client.batches.create(asBatch(file));
  await client.batches.cancel(id);
  const batch = await finished(id);
  assert.ok(["cancelled", "completed"].includes(batch.status));
  assert.equal((await client.batches.cancel(id).catch((error) => error)).status === 409, batch.status === "completed");
});

test("files of batches are paged through, each once", async () => {
  const made = [];
  for (const text of ["one", "two", "three"]) made.push((await upload(lines(text))).id);
  const listed = (await Array.fromAsync(client.files.list({ limit: 2, purpose: "batch" }))).map((file) => file.id);
  assert.equal(new Set(listed).size, listed.length);
  assert.deepEqual(listed.slice(0, 3), made.toReversed());
  await assert.rejects(client.files.delete(made[0]), (error) => error.code === "file_deletion_not_supported");
});

test("what cannot be a batch is refused", async () => {
  await assert.rejects(upload(`${lines("Hi.")}no request\n`), /line 2/i);
  await assert.rejects(client.batches.create(asBatch({ id: `file-${randomUUID()}` })), OpenAI.NotFoundError);
});

test("a batch that is created twice under a key is one", async () => {
  const file = await upload(lines("Hi."));
  const options = { headers: { "Idempotency-Key": randomUUID() } };
  const made = [await client.batches.create(asBatch(file), options), await client.batches.create(asBatch(file), options)];
  assert.equal(made[0].id, made[1].id);
  assert.equal((await client.batches.retrieve(made[0].id)).anex_job_id.length, 36);
});
