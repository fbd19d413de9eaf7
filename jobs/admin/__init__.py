"""Work for staff: jobs and batches with their steps, files, chunks, workers and webhooks, all read-only."""

from jobs.admin import batches, jobs, webhooks

__all__ = ["batches", "jobs", "webhooks"]
