// The same request in three languages. What is shown is the body that is sent.

const page = document.querySelector("[data-playground]");

const SDK = {
  "/v1/chat/completions": {
    call: "chat.completions.create",
    fields: new Set([
      ...["model", "messages", "max_tokens", "temperature", "top_p", "frequency_penalty", "presence_penalty", "seed"],
      ...["stop", "response_format", "stream", "stream_options"],
    ]),
  },
  "/v1/embeddings": {
    call: "embeddings.create",
    fields: new Set(["model", "input", "dimensions", "encoding_format"]),
  },
};

const indented = (text, spaces) => text.replaceAll("\n", `\n${" ".repeat(spaces)}`);

function literal(value, spaces) {
  const inner = " ".repeat(spaces + 4);
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const isList = Array.isArray(value);
  const [open, close] = isList ? "[]" : "{}";
  const lines = Object.entries(value).map(
    ([name, item]) => `${inner}${isList ? "" : `${JSON.stringify(name)}: `}${literal(item, spaces + 4)},\n`,
  );
  return lines.length ? `${open}\n${lines.join("")}${" ".repeat(spaces)}${close}` : open + close;
}

function curl(url, body) {
  const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
  const stream = body.stream ? " --no-buffer" : "";
  return `curl${stream} ${url} \\
  -H "Authorization: Bearer $ANEX_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${json}'`;
}

function python(origin, path, body) {
  const sdk = SDK[path];
  const head = `import os\n\nfrom openai import OpenAI\n
client = OpenAI(base_url="${origin}/v1", api_key=os.environ["ANEX_API_KEY"])\n`;
  if (!sdk) {
    const asked = literal(body, 0);
    return `${head}body = ${asked}\nanswer = client.post("${path.slice(3)}", body=body, cast_to=object)\nprint(answer)\n`;
  }
  const known = Object.entries(body).filter(([name]) => sdk.fields.has(name));
  const others = Object.entries(body).filter(([name]) => !sdk.fields.has(name));
  if (others.length) known.push(["extra_body", Object.fromEntries(others)]);
  const given = known.map(([name, value]) => `    ${name}=${literal(value, 4)},\n`).join("");
  const call = `client.${sdk.call}(\n${given})\n`;
  if (!body.stream) return `${head}answer = ${call}print(answer.model_dump_json())\n`;
  return `${head}stream = ${call}for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)\n`;
}

function javascript(url, body) {
  const json = indented(JSON.stringify(body, null, 2), 2);
  const head = `const answer = await fetch("${url}", {
  method: "POST",
  headers: {
    Authorization: \`Bearer \${process.env.ANEX_API_KEY}\`,
    "Content-Type": "application/json",
  },
  body: JSON.stringify(${json}),
});
if (!answer.ok) throw new Error(await answer.text());\n`;
  if (!body.stream) return `${head}console.log(await answer.json());\n`;
  return `${head}let rest = "";
for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + piece).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    if (!line.startsWith("data: ") || line === "data: [DONE]") continue;
    process.stdout.write(JSON.parse(line.slice(6)).choices[0]?.delta?.content ?? "");
  }
}\n`;
}

// Shows a request in every language.
export function show(body) {
  const { origin, path } = page.dataset;
  const written = {
    curl: curl(origin + path, body),
    python: python(origin, path, body),
    javascript: javascript(origin + path, body),
  };
  for (const [language, text] of Object.entries(written)) {
    page.querySelector(`#code-${language}`).textContent = text;
  }
}
