"""Files of the OpenAI-compatible host: made of an upload that was checked, or of what a batch delivers."""

from datetime import timedelta
from uuid import UUID

from accounts.services import audit
from anex.core import clock
from anex.core.actors import Actor
from inference.requests.batch_lines import Target
from jobs.models import File, Input, Job
from jobs.services.endings import DATA_KEPT
from jobs.services.inputs import JSONL, RETENTION
from jobs.storage.interface import Stored


def create(*, file_id: UUID, organization_id: UUID, region: str, target: Target, stored: Stored, actor: Actor) -> File:
    """The file and the ready input of an object whose lines were checked; both have this id.

    Call it in a transaction; the name is in the store by then.
    """
    now = clock.now()
    source = Input.objects.create(
        id=file_id,
        organization_id=organization_id,
        region=region,
        status=Input.State.READY,
        format=JSONL,
        key=stored.key,
        etag=stored.etag,
        size_bytes=stored.size,
        created_by=str(actor),
        expires_at=now + RETENTION,
    )
    audit.record(organization_id=organization_id, actor=actor, action="input.create", target=str(file_id))
    return File.objects.create(
        id=file_id,
        organization_id=organization_id,
        region=region,
        purpose=File.Purpose.BATCH,
        input=source,
        model_id=target.model,
        url=target.url,
        size_bytes=stored.size,
        created_at=now,
        expires_at=now + RETENTION,
    )


def deliver(*, job: Job, part: File.Part, stored: Stored, kept: timedelta = DATA_KEPT) -> File:
    """The file of what a job delivers to its batch; call it in the transaction that ends the job.

    Its object lies below the job's prefix and is erased with the job's data.
    """
    now = clock.now()
    return File.objects.create(
        organization_id=job.organization_id,
        region=job.region,
        purpose=File.Purpose.BATCH_OUTPUT,
        job=job,
        part=part,
        key=stored.key,
        etag=stored.etag,
        size_bytes=stored.size,
        created_at=now,
        expires_at=now + kept,
    )
