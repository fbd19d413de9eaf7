"""Jobs whose objects lie in a store, as a worker would have left them."""

from typing import Any

from accounts.models import Organization
from jobs.lifecycle import Status
from jobs.models import Job
from jobs.storage import keys, store
from jobs.storage.interface import Store
from tests.factories import make_input
from tests.jobs.api import stages


def fill(job: Job, objects: Store | None = None) -> Job:
    """Put the job's input, parts, result, schema and failure sentences into the store."""
    objects = objects or store()
    job.result_key = keys.result(job.pk)
    job.save(update_fields=["result_key"])
    for key in (job.result_key, keys.part(job.pk, 1), keys.part(job.pk, 2), keys.response_format(job.pk)):
        objects.put(key, b"{}\n")
    objects.put(keys.failure(job.pk), b'{"reason": "Line 3.", "errors": []}')
    objects.put(job.input.key, b"rows\n")
    return job


def ended(organization: Organization, status: Status = Status.DONE, **fields: Any) -> Job:
    """A finished job with everything it stored, on an input of its own."""
    fields.setdefault("input", make_input(organization, upload_expires_at=None))
    return fill(stages.ended(organization, status, **fields))


def left(objects: Store | None = None) -> list[str]:
    """Every key in the store."""
    return sorted(stored.key for stored in (objects or store()).list(""))
