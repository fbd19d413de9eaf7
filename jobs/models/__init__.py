"""The tables of work that finishes later.

The database holds codes, ids and numbers; what a customer wrote (texts, custom ids, schemas, names of files) lives in
the region's object store.
"""

from jobs.models.batches import Batch
from jobs.models.files import File, FileUpload
from jobs.models.jobs import AutoApproval, Chunk, Ingest, Input, Job, JobEvent, Part, Worker
from jobs.models.webhooks import WebhookAttempt, WebhookDelivery, WebhookEndpoint, WebhookEvent

__all__ = [
    "AutoApproval",
    "Batch",
    "Chunk",
    "File",
    "FileUpload",
    "Ingest",
    "Input",
    "Job",
    "JobEvent",
    "Part",
    "WebhookAttempt",
    "WebhookDelivery",
    "WebhookEndpoint",
    "WebhookEvent",
    "Worker",
]
