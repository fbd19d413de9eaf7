"""Batches made as the API makes them, and their files as clients read them."""

import json
import uuid
from typing import Any

from accounts.models import Organization
from anex.core.actors import Actor, system
from inference.requests.batch_lines import Target
from jobs.api.batches import rendering
from jobs.lifecycle import Status
from jobs.models import Batch, File, Job
from jobs.selectors import batches as selectors
from jobs.services import batches, files
from jobs.storage import keys, store
from tests.factories import make_input
from tests.jobs.run.driver import chat_line

ENDPOINT = "/v1/chat/completions"


def line(custom_id: str, content: str = "hello", **body: Any) -> str:
    """A request of a batch on the scripted model."""
    return chat_line(custom_id, content, model="scripted", **{"max_tokens": 16} | body)


def upload(organization: Organization, *lines: str, model_id: str = "scripted", url: str = ENDPOINT) -> File:
    """A file as an upload that was checked leaves it."""
    file_id = uuid.uuid4()
    stored = store().put(keys.upload(organization.pk, file_id), "".join(f"{text}\n" for text in lines).encode())
    return files.create(
        file_id=file_id,
        organization_id=organization.pk,
        region="world",
        target=Target(url, model_id),
        stored=stored,
        actor=system("tests"),
    )


def create(
    organization: Organization,
    *lines: str,
    actor: Actor | None = None,
    model_id: str = "scripted",
    endpoint: str = ENDPOINT,
) -> Job:
    """The job of a new batch on a file of these lines."""
    asked = batches.Asked(f"file-{upload(organization, *lines, model_id=model_id, url=endpoint).pk.hex}", endpoint)
    return batches.create(
        organization_id=organization.pk, asked=asked, require_model=lambda _: None, actor=actor or system("tests")
    )


def make(job: Job) -> Job:
    """Turn a job into that of a batch, whose input is an uploaded file."""
    source = make_input(job.organization)
    File.objects.create(
        id=source.pk,
        organization=job.organization,
        region=job.region,
        purpose=File.Purpose.BATCH,
        input=source,
        model_id=job.model_id,
        size_bytes=source.size_bytes or 0,
        created_at=job.created_at,
        expires_at=job.created_at + files.RETENTION,
    )
    Job.objects.filter(pk=job.pk).update(input=source, row_profile="openai")
    Batch.objects.create(job=job, endpoint=ENDPOINT)
    job.refresh_from_db()
    return job


def view(job: Job) -> selectors.View:
    """The batch as it is now."""
    return selectors.get(job.organization_id, selectors.wire_id(job))


def delivered(job: Job) -> dict[str, list[dict[str, Any]]]:
    """The lines of a batch's files, by their part; no key where there is no file."""
    found = view(job).files
    return {part: [json.loads(text) for text in store().read(file.key).splitlines()] for part, file in found.items()}


def ids(lines: list[dict[str, Any]]) -> list[str]:
    return [answer["custom_id"] for answer in lines]


def status_of(job: Job) -> str:
    job.refresh_from_db()
    return str(Status(job.status))


def shown(job: Job) -> dict[str, Any]:
    """The batch as the API shows it now."""
    return rendering.batch(view(job))
