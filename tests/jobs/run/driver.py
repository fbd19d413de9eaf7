"""Drives a job's steps one by one, in this process, as a worker's pump would."""

import json
import uuid
from dataclasses import dataclass, field
from typing import Any

from accounts.models import Organization
from anex.core.actors import system
from jobs import storage
from jobs.models import Chunk, Input, Job, Worker
from jobs.run import claims
from jobs.run.claims import Claim
from jobs.run.control import run_control
from jobs.services import approvals
from jobs.storage import keys
from tests.factories import make_input


@dataclass
class HandLease:
    """The lease of a worker that exists only as a row; `reclaims` says whether it may take others' chunks."""

    seconds: float = 30.0
    reclaims: bool = False
    epoch: int = field(default=0)

    def __post_init__(self) -> None:
        from django.utils.timezone import now

        worker = Worker.objects.create(name="test", region="world", started_at=now(), heartbeat_at=now())
        self.epoch = worker.pk

    def valid(self) -> bool:
        return True

    def may_reclaim(self) -> bool:
        return self.reclaims


def chat_line(custom_id: str = "row-1", content: Any = "hello", **body: Any) -> str:
    """A well-formed row."""
    line = {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions"}
    return json.dumps(line | {"body": {"messages": [{"role": "user", "content": content}], **body}})


def submit(
    organization: Organization, data: bytes, *, model_id: str = "scripted", format: str = "jsonl", **fields: Any
) -> Job:
    """A job as POST /jobs leaves it; `fields` are columns of the job."""
    input_id = uuid.uuid4()
    stored = storage.store().put(keys.upload(organization.pk, input_id, format), data)
    of_file = {"format": format, "key": stored.key, "etag": stored.etag, "size_bytes": stored.size}
    source: Input = make_input(organization, id=input_id, **of_file)
    defaults = {"requested_max_output_tokens": 16, "created_by": "user:1", "model_id": model_id}
    job = Job.objects.create(organization=organization, input=source, **(defaults | fields))
    Chunk.objects.create(job=job, kind=Chunk.Kind.VALIDATE, index=0, byte_end=stored.size)
    return job


def claim_one(lease: HandLease, *kinds: str, model_id: str = "scripted") -> Claim | None:
    """The next free chunk of these kinds, claimed."""
    found = claims.claim(lease, region="world", kinds=kinds, models=[model_id], limit=1)  # type: ignore[arg-type]
    return found[0] if found else None


def validate(job: Job) -> Job:
    """Run the check of a job's input; the job as it is then."""
    claim = claim_one(HandLease(), "validate")
    assert claim is not None
    assert claim.job_id == job.pk
    run_control(claim)
    job.refresh_from_db()
    return job


def approve(job: Job) -> Job:
    """Approve a quoted job."""
    return approvals.approve(organization_id=job.organization_id, job_id=job.pk, actor=system("test"))
