"""Work for staff: jobs and batches with their steps, files, chunks, workers and webhooks, all read-only."""

from jobs.admin import batches, facts, jobs, webhooks

__all__ = ["batches", "facts", "jobs", "webhooks"]
