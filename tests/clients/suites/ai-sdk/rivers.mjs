// What several files ask for: a tool, a prompt that calls it, and the schema of an object.
import { tool } from "ai";
import { z } from "zod";

export const weather = tool({
  description: "The weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `Sunny in ${city}.`,
});
export const prompt = 'What is the weather in "Paris"?';
export const River = z.object({ name: z.string(), length: z.number().int(), countries: z.array(z.string()) });
