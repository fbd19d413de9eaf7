// Looks at the first rows of a file, before a byte of it is sent: what a row must be, line by line.

const LOOKED_AT = 20;
const MOST_BYTES = 1024 * 1024;
const MOST_PROBLEMS = 5;

const TASKS = {
  "/v1/chat/completions": "chat",
  "/v1/embeddings": "embeddings",
  "/v1/systemone": "decisions",
};
const MEDIA = {
  image_url: "image",
  input_audio: "audio",
  audio_url: "audio",
  video_url: "video",
  input_video: "video",
};

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isFilled = (value) => typeof value === "string" && value !== "";

function bodyProblem(url, body) {
  if (!isObject(body)) return "has no body: it must be an object";
  if (url === "/v1/chat/completions") {
    if (!Array.isArray(body.messages) || !body.messages.length) return "has no messages in its body";
    if (!body.messages.every((message) => isObject(message) && isFilled(message.role))) {
      return "has a message without a role";
    }
    return "";
  }
  if (url === "/v1/embeddings") {
    const parts = Array.isArray(body.input) && body.input.length && body.input.every(isObject);
    return isFilled(body.input) || parts ? "" : "has no input in its body: one text a row, or a list of content parts";
  }
  if (!isFilled(body.state) && !isObject(body.state)) return "has no state in its body";
  return isObject(body.questions) && Object.keys(body.questions).length ? "" : "has no questions in its body";
}

function rowProblem(row, seen, first) {
  if (!isObject(row)) return "is not a JSON object";
  if (!isFilled(row.custom_id)) return "has no custom_id";
  if (seen.has(row.custom_id)) return `repeats the custom_id “${row.custom_id}” of line ${seen.get(row.custom_id)}`;
  if (row.method !== "POST") return "has no method: it must be POST";
  if (!(row.url in TASKS)) return `has no url of ours: it must be one of ${Object.keys(TASKS).join(", ")}`;
  if (first && row.url !== first) return `is for ${row.url}, and the lines before are for ${first}`;
  return bodyProblem(row.url, row.body);
}

// The kinds of media in a row.
function mediaOf(body) {
  const contents = body.messages ? body.messages.map((message) => message.content) : [body.input];
  const parts = contents.flatMap((content) => (Array.isArray(content) ? content : []));
  return new Set(parts.map((part) => MEDIA[part?.type]).filter(Boolean));
}

function* linesOf(bytes) {
  let start = 0;
  while (start < bytes.length) {
    const found = bytes.indexOf(10, start);
    const end = found < 0 ? bytes.length : found;
    yield bytes.subarray(start, end);
    start = end + 1;
  }
}

function parsed(line) {
  try {
    return { row: JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line)) };
  } catch (error) {
    return { problem: error instanceof SyntaxError ? "is not valid JSON" : "is not UTF-8 text" };
  }
}

const isBlank = (line) => line.every((byte) => byte <= 32);
const hasMark = (bytes) => bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;

function checkLines(bytes) {
  const told = { problems: [], rows: 0, url: "", media: new Map() };
  const seen = new Map();
  let number = 0;
  for (const line of linesOf(bytes)) {
    number += 1;
    if (isBlank(line)) continue;
    if (told.rows + told.problems.length === LOOKED_AT || told.problems.length === MOST_PROBLEMS) break;
    const { row, problem } = parsed(line);
    const wrong = problem || rowProblem(row, seen, told.url);
    if (wrong) {
      told.problems.push(`Line ${number} ${wrong}.`);
      continue;
    }
    told.rows += 1;
    told.url ||= row.url;
    seen.set(row.custom_id, number);
    for (const kind of mediaOf(row.body)) if (!told.media.has(kind)) told.media.set(kind, number);
  }
  return told;
}

export const isParquet = (file) => file.name.toLowerCase().endsWith(".parquet");

const wrong = (problem) => ({ problems: [problem], rows: 0, url: "", media: new Map() });

// What is wrong with a file, and else: how many rows were looked at, what they ask for, and the media they carry.
export async function look(file) {
  if (!file.size) return wrong("This file is empty.");
  const bytes = new Uint8Array(await file.slice(0, MOST_BYTES).arrayBuffer());
  if (isParquet(file)) {
    const isOne = new TextDecoder().decode(bytes.subarray(0, 4)) === "PAR1";
    return isOne ? { ...wrong(""), problems: [] } : wrong("This is not a parquet file.");
  }
  if (hasMark(bytes)) return wrong("Line 1 begins with a byte order mark. Save the file as UTF-8 without one.");
  const whole = file.size > bytes.length ? bytes.subarray(0, bytes.lastIndexOf(10) + 1) : bytes;
  return checkLines(whole);
}

// Why a model does not read these rows; nothing where it does.
export function mismatch(told, model) {
  if (!model || !told.url) return "";
  if (told.url !== model.url) {
    return `These rows ask for ${TASKS[told.url]}, which ${model.id} does not answer. Pick another model.`;
  }
  for (const [kind, line] of told.media) {
    if (!model.inputs.includes(kind)) return `Line ${line} carries ${kind}, which ${model.id} does not read.`;
  }
  return "";
}

export const taskOf = (told) => TASKS[told.url] ?? "";
