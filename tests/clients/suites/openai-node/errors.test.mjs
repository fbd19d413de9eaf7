// Errors: the client's classes, ids of requests, and what is sent again.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import OpenAI from "openai";
import { anex, client, connect, counted, says } from "./client.mjs";

const ask = (by, model = anex.chat, text = "Name a river.") =>
  by.chat.completions.create({ model, messages: says(text) });

test("each status is its class", async () => {
  for (const [key, model, kind, status] of [
    [`sk-${"x".repeat(55)}`, anex.chat, OpenAI.AuthenticationError, 401],
    [anex.narrowKey, anex.chat, OpenAI.PermissionDeniedError, 403],
    [anex.poorKey, anex.chat, OpenAI.APIError, 402],
    [anex.key, "nobody", OpenAI.NotFoundError, 404],
    [anex.key, anex.embedding, OpenAI.BadRequestError, 400],
    [anex.key, "gemma4-12b", OpenAI.InternalServerError, 501],
  ]) {
    await assert.rejects(ask(connect({ apiKey: key }), model), (error) => {
      assert.ok(error instanceof kind, `${error.status}`);
      assert.equal(error.status, status);
      assert.equal(typeof error.code, "string");
      assert.ok(error.requestID);
      return true;
    });
  }
});

test("busy and failing servers have their classes", async () => {
  await assert.rejects(ask(client, anex.chat, "[[status 500]]"), OpenAI.InternalServerError);
  await assert.rejects(ask(client, anex.chat, "[[status 429]]"), OpenAI.RateLimitError);
  await new Promise((done) => setTimeout(done, 1100));
});

test("what cannot succeed is sent once", async () => {
  for (const [apiKey, model] of [[anex.key, "gemma4-12b"], [anex.key, "nobody"], [anex.poorKey, anex.chat]]) {
    const { client: retrying, sent } = counted({ apiKey });
    await assert.rejects(ask(retrying, model), OpenAI.APIError);
    assert.equal(sent.length, 1);
  }
});

test("a passing fault is sent again and answered", async () => {
  const { client: retrying, sent } = counted();
  assert.ok((await ask(retrying, anex.chat, `[[status 500 1]] ${randomUUID()}`)).choices);
  assert.equal(sent.length, 2);
});

test("the response of an answer is at hand", async () => {
  const { data, response, request_id } = await ask(client).withResponse();
  assert.equal(response.headers.get("x-request-id"), request_id);
  assert.ok(data.id.endsWith(request_id));
});

test("vectors are cut to their dimensions, and token ids refused", async () => {
  const asked = { model: anex.embedding, input: "a" };
  assert.equal((await client.embeddings.create({ ...asked, dimensions: 64 })).data[0].embedding.length, 64);
  await assert.rejects(client.embeddings.create({ ...asked, input: [1, 2] }), OpenAI.BadRequestError);
});
