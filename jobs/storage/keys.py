"""Names of objects. What an attempt writes gets a random suffix: only a committed row says which attempt counts."""

import re
import secrets
from uuid import UUID

MAX_LENGTH = 200
# What the key of every uploaded picture or clip starts with.
MEDIA = "media/"
_SEGMENT = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"
_KEY = re.compile(rf"{_SEGMENT}(?:/{_SEGMENT})*")


def is_valid(key: str) -> bool:
    """Whether a store takes the key: plain segments that cannot leave a folder, at most MAX_LENGTH characters."""
    return len(key) <= MAX_LENGTH and _KEY.fullmatch(key) is not None


def upload(organization_id: UUID, input_id: UUID, format: str = "jsonl") -> str:
    """An uploaded input (reference 001, POST /inputs)."""
    return f"uploads/{organization_id}/{input_id}.{format}"


def ingest(organization_id: UUID, input_id: UUID, format: str = "jsonl") -> str:
    """The name of an input copied from a URL; each attempt writes an object of its own below `ingest_prefix`."""
    return f"inputs/{organization_id}/{input_id}.{format}"


def ingest_prefix(organization_id: UUID, input_id: UUID) -> str:
    """What every object starts with of such an input, or of one uploaded as a file of the OpenAI-compatible host."""
    return f"inputs/{organization_id}/{input_id}/"


def ingest_attempt(organization_id: UUID, input_id: UUID, format: str = "jsonl") -> str:
    """The file as one attempt copies it; another key at every call."""
    return f"{ingest_prefix(organization_id, input_id)}{_random()}.{format}"


def ingest_request(organization_id: UUID, input_id: UUID) -> str:
    """Where the file comes from and who is told: URLs and a secret."""
    return f"{ingest_prefix(organization_id, input_id)}request.json"


def ingest_failure(organization_id: UUID, input_id: UUID) -> str:
    """Why the copy failed, in words that may name the source's host."""
    return f"{ingest_prefix(organization_id, input_id)}failure.json"


def uploaded_file(organization_id: UUID, input_id: UUID) -> str:
    """An input that was uploaded as a file of the OpenAI-compatible host; its id is new with every attempt."""
    return f"{ingest_prefix(organization_id, input_id)}rows.jsonl"


def file_name(organization_id: UUID, input_id: UUID) -> str:
    """What such a file is called."""
    return f"{ingest_prefix(organization_id, input_id)}name"


def input_name(key: str) -> str:
    """The key under which an input is known outside: whichever attempt copied it."""
    folder, _, attempt = key.rpartition("/")
    return f"{folder}.{format_of(key)}" if key.startswith("inputs/") and folder.count("/") == 2 and attempt else key


def format_of(key: str) -> str:
    """The format of an input or a result, as the end of its key names it."""
    return key.rpartition(".")[2]


def media(organization_id: UUID, ends: int, format: str) -> str:
    """A picture or clip that requests name by URL until `ends` (seconds since 1970); another key at every call."""
    return f"{MEDIA}{organization_id}/{ends}-{_random()}.{format}"


def media_owner(key: str) -> UUID:
    """The organization that uploaded a picture or clip."""
    return UUID(key.split("/")[1])


def media_end(key: str) -> int:
    """When a picture or clip is past its time, in seconds since 1970."""
    return int(key.rpartition("/")[2].partition("-")[0])


def job_prefix(job_id: UUID) -> str:
    """What every object of a job starts with; erasing a job is deleting this prefix."""
    return f"jobs/{job_id}/"


def part(job_id: UUID, chunk_id: int) -> str:
    """A part of a chunk; another key at every call."""
    return f"{job_prefix(job_id)}parts/{chunk_id}-{_random()}.jsonl"


def result(job_id: UUID, format: str = "jsonl") -> str:
    """The merged result; another key at every call."""
    return f"{job_prefix(job_id)}result-{_random()}.{format}"


def retried_rows(job_id: UUID, format: str = "jsonl") -> str:
    """The input of a job that retries rows of another one; another key at every call."""
    return f"{job_prefix(job_id)}input-{_random()}.{format}"


def converted_rows(job_id: UUID) -> str:
    """The rows of a parquet input as JSON Lines; another key at every call."""
    return f"{job_prefix(job_id)}rows-{_random()}.jsonl"


def response_format(job_id: UUID) -> str:
    """The JSON schema a job was submitted with."""
    return f"{job_prefix(job_id)}response_format.json"


def batch_metadata(job_id: UUID) -> str:
    """What the customer wrote on a batch."""
    return f"{job_prefix(job_id)}metadata.json"


def media_lengths(job_id: UUID, epoch: int) -> str:
    """What the hosts of a job's clips told the worker that checked it, by their URLs."""
    return f"{job_prefix(job_id)}media-{epoch}.json"


def failure(job_id: UUID) -> str:
    """Why a job failed, in words that may quote the customer's rows."""
    return f"{job_prefix(job_id)}failure.json"


def webhook_answer(organization_id: UUID, job_id: UUID | None) -> str:
    """What a receiver answered, which may repeat what it was sent: it goes with the job; a test belongs to none."""
    folder = job_prefix(job_id) if job_id else f"tests/{organization_id}/"
    return f"{folder}webhooks/{_random()}"


def _random() -> str:
    return secrets.token_hex(16)
