// The sample that the page "OpenAI compatibility" gives for this client, as it stands there.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";

test("the sample of the page runs", async () => {
  const page = await (await fetch(`${process.env.ANEX_ORIGIN}/docs/openai.md`)).text();
  const [, sample] = page.match(new RegExp(`^\`\`\`js ${process.env.ANEX_CLIENT}\\n(.*?)^\`\`\``, "ms"));
  assert.ok(sample.includes("baseURL"));
  // Node looks for packages beside the file that imports them.
  writeFileSync(new URL("page-sample.mjs", import.meta.url), sample);
  await import("./page-sample.mjs");
});
