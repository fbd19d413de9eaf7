// The provider under test, and where the platform is.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";

const told = process.env;
export const anex = createOpenAICompatible({
  name: "anex",
  baseURL: told.ANEX_BASE_URL,
  apiKey: told.ANEX_API_KEY,
  includeUsage: true,
  supportsStructuredOutputs: true,
});
export const model = anex(told.ANEX_CHAT_MODEL);
export const mediaModel = told.ANEX_MEDIA_MODEL && anex(told.ANEX_MEDIA_MODEL);
// What `openai(model)` is by default: the Responses API.
export const responses = createOpenAI({ baseURL: told.ANEX_BASE_URL, apiKey: told.ANEX_API_KEY })(told.ANEX_CHAT_MODEL);
// The same on the surface that takes custom tools.
export const second = createOpenAI({ baseURL: `${told.ANEX_ORIGIN}/openai/v1`, apiKey: told.ANEX_API_KEY });
export const embedder = anex.embeddingModel(told.ANEX_EMBEDDING_MODEL);
