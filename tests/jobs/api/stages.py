"""Jobs at every stage of their life, with the fields that the platform would have written by then."""

from datetime import timedelta
from typing import Any

from accounts.models import Organization
from anex.core import clock
from anex.core.actors import system
from anex.core.money import cents_to_nano
from billing.services import holds
from jobs.lifecycle import Status
from jobs.models import Chunk, Job, Part, Worker
from tests.factories import make_job

MODEL = "smollm2-135m-instruct"
BUILDER = system("tests")


def submitted(organization: Organization, **fields: Any) -> Job:
    job = make_job(organization, **({"status": Status.SUBMITTED, "model_id": MODEL} | fields))
    Chunk.objects.create(job=job, kind=Chunk.Kind.VALIDATE, index=0, byte_end=1_000)
    return job


def quoted(organization: Organization, **fields: Any) -> Job:
    """100 rows for 72 cents, in two chunks that nobody has claimed."""
    estimate = {
        "status": Status.COST_READY,
        "row_count": 100,
        "est_input_tokens": 120_000,
        "est_output_tokens": 40_000,
        "max_output_tokens": 600,
        "quote_cents": 72,
        "est_processing_seconds": 900,
        "approval_expires_at": clock.now() + timedelta(hours=24),
    }
    job = make_job(organization, **({"model_id": MODEL} | estimate | fields))
    for index in range(2):
        Chunk.objects.create(
            job=job, kind=Chunk.Kind.ROWS, index=index, first_row=50 * index, row_count=50, done="0" * 50
        )
    return job


def running(organization: Organization, **fields: Any) -> Job:
    """Approved: the quote is held; the organization needs the balance for it."""
    job = quoted(organization, **({"status": Status.IN_PROGRESS, "approved_at": clock.now()} | fields))
    holds.place(
        organization_id=organization.pk,
        source=f"job:{job.id}",
        amount_nano=cents_to_nano(job.quote_cents),
        actor=BUILDER,
    )
    return job


def ended(organization: Organization, status: Status = Status.DONE, **fields: Any) -> Job:
    """Over, with 90 answers, three errors, two format errors, four truncated rows and one row never run."""
    now = clock.now()
    outcome = {
        "status": status,
        "approved_at": now,
        "finished_at": now,
        "success_rows": 90,
        "error_rows": 3,
        "format_error_rows": 2,
        "truncated_rows": 4,
        "charge_cents": 41,
        "result_key": "jobs/tests/result.jsonl",
        "result_rows": 99,
        "partial": status != Status.DONE,
        "data_expires_at": now + timedelta(days=30),
    }
    return quoted(organization, **(outcome | fields))


def worker(*, silent_for: float = 0.0) -> Worker:
    """A worker whose last heartbeat is `silent_for` seconds old."""
    seen = clock.now() - timedelta(seconds=silent_for)
    return Worker.objects.create(name="tests", region="world", started_at=seen, heartbeat_at=seen)


def claim(job: Job, *, index: int = 0, by: Worker) -> Chunk:
    """Let a worker hold one of the job's row chunks."""
    chunk = job.chunks.get(kind=Chunk.Kind.ROWS, index=index)
    chunk.epoch = by.pk
    chunk.save()
    return chunk


def part(job: Job, *, index: int = 0, cost_nano: int = 1_500_000, key: str = "", **counts: int) -> Part:
    """Durable rows of one of the job's chunks: ten answers unless `counts` says otherwise."""
    figures = {
        "success_rows": 10,
        "error_rows": 0,
        "format_error_rows": 0,
        "truncated_rows": 0,
        "size_bytes": 100,
        "input_tokens": 10,
        "cached_tokens": 0,
        "output_tokens": 10,
    }
    chunk = job.chunks.get(kind=Chunk.Kind.ROWS, index=index)
    return Part.objects.create(chunk=chunk, key=key or f"parts/{chunk.pk}", cost_nano=cost_nano, **(figures | counts))
