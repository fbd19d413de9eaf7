"""Result lines of a job that is still running, from what is durable already."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import F

from anex.core.errors import Gone
from jobs import storage
from jobs.lifecycle import TERMINAL
from jobs.models import Chunk, Part
from jobs.run import parts
from jobs.selectors import jobs
from jobs.services import residency
from jobs.services.results import DELETED

CHUNKS_AT_ONCE = 16
BYTES_AT_ONCE = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FinishedRows:
    """Result lines in input order, each with its line end; `after` is where the next read begins."""

    lines: bytes
    after: int


def finished(*, organization_id: UUID, job_id: UUID, after: int) -> FinishedRows:
    """The rows behind the first `after` ones, up to the first chunk that is not finished: a few chunks at a time.

    Of a job that is over, every row that was finished. NotFound, Misdirected, Gone as for its result.
    """
    job = jobs.get(organization_id, job_id)
    residency.require_here(job.region)
    if job.data_deleted_at is not None or job.deletion_asked_at is not None:
        raise Gone(DELETED)
    store, lines, size = storage.store(job.region), list[bytes](), 0
    chunks = Chunk.objects.filter(job=job, kind=Chunk.Kind.ROWS, first_row__gt=after - F("row_count"))
    for chunk in chunks.order_by("index")[:CHUNKS_AT_ONCE]:
        end = chunk.first_row + chunk.row_count
        if size >= BYTES_AT_ONCE or ("0" in chunk.done and job.status not in TERMINAL):
            break
        objects = Part.objects.filter(chunk=chunk).order_by("pk").values_list("key", flat=True)
        for row, line in parts.merge(store.read(key) for key in objects):
            if chunk.first_row + row >= after:
                lines.append(line)
                size += len(line)
        after = end
    return FinishedRows(b"".join(lines), after)
