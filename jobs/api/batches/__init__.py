"""Batches on the OpenAI-compatible host (reference 000, `/v1/batches`)."""
