"""Names of objects. What an attempt writes gets a random suffix: only a committed row says which attempt counts."""

import re
import secrets
from uuid import UUID

MAX_LENGTH = 200
_SEGMENT = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"
_KEY = re.compile(rf"{_SEGMENT}(?:/{_SEGMENT})*")


def is_valid(key: str) -> bool:
    """Whether a store takes the key: plain segments that cannot leave a folder, at most MAX_LENGTH characters."""
    return len(key) <= MAX_LENGTH and _KEY.fullmatch(key) is not None


def upload(organization_id: UUID, input_id: UUID) -> str:
    """An uploaded input (reference 001, POST /inputs)."""
    return f"uploads/{organization_id}/{input_id}.jsonl"


def job_prefix(job_id: UUID) -> str:
    """What every object of a job starts with; erasing a job is deleting this prefix."""
    return f"jobs/{job_id}/"


def part(job_id: UUID, chunk_id: int) -> str:
    """A part of a chunk; another key at every call."""
    return f"{job_prefix(job_id)}parts/{chunk_id}-{_random()}.jsonl"


def result(job_id: UUID) -> str:
    """The merged result; another key at every call."""
    return f"{job_prefix(job_id)}result-{_random()}.jsonl"


def retried_rows(job_id: UUID) -> str:
    """The input of a job that retries rows of another one; another key at every call."""
    return f"{job_prefix(job_id)}input-{_random()}.jsonl"


def response_format(job_id: UUID) -> str:
    """The JSON schema a job was submitted with."""
    return f"{job_prefix(job_id)}response_format.json"


def failure(job_id: UUID) -> str:
    """Why a job failed, in words that may quote the customer's rows."""
    return f"{job_prefix(job_id)}failure.json"


def webhook_answer(organization_id: UUID, job_id: UUID | None) -> str:
    """What a receiver answered, which may repeat what it was sent: it goes with the job; a test belongs to none."""
    folder = job_prefix(job_id) if job_id else f"tests/{organization_id}/"
    return f"{folder}webhooks/{_random()}"


def _random() -> str:
    return secrets.token_hex(16)
