// On /openai/v1 the default of the provider does what it does on /v1.
import "./responses.test.mjs";
