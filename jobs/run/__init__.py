"""Execution: what a worker does with a job, from its first line to its result file."""
