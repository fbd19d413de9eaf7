"""GET /jobs/{id}/rows: the finished rows of a job while it runs (an addition to reference 003)."""

from pathlib import Path

import pytest

from anex.core import clock
from jobs import storage
from jobs.lifecycle import Status
from jobs.models import Chunk
from tests.jobs.api import stages


@pytest.fixture(autouse=True)
def _own_store(settings, tmp_path: Path) -> None:
    settings.ANEX_STORAGE_DIR = tmp_path / "objects"


def finish(job, index: int, rows: range) -> None:
    """Make rows of a chunk durable in one part."""
    part = stages.part(job, index=index, success_rows=len(rows))
    part.key = f"jobs/{job.pk}/parts/{index}-{rows.start}.jsonl"
    part.save()
    # As rows come: in any order.
    storage.store().put(part.key, b"".join(b"%d\t%d-%d\n" % (row, index, row) for row in reversed(rows)))
    done = "".join("1" if row in rows else was for row, was in enumerate(part.chunk.done))
    Chunk.objects.filter(pk=part.chunk_id).update(done=done)


def read(api, job, after: int | str = 0):
    return api.get(f"/batch/v1/jobs/{job.pk}/rows?after={after}")


def test_finished_chunks_are_read_in_order_and_nothing_behind_the_first_open_one(api, acme) -> None:
    job = stages.running(acme)
    finish(job, 1, range(50))
    answer = read(api, job)
    assert (answer.status_code, answer.content, answer["X-Next-After"]) == (200, b"", "0")
    finish(job, 0, range(25))
    finish(job, 0, range(25, 50))
    answer = read(api, job, 48)
    assert answer.content.split() == [b"0-48", b"0-49", *(b"1-%d" % row for row in range(50))]
    assert (answer["Content-Type"], answer["X-Next-After"]) == ("text/plain; charset=utf-8", "100")
    assert read(api, job, 100).content == b""


def test_of_a_job_that_is_over_what_was_finished_is_read(api, acme) -> None:
    job = stages.running(acme)
    finish(job, 1, range(3))
    job.status = Status.CANCELLED
    job.save()
    answer = read(api, job)
    assert (answer.content.split(), answer["X-Next-After"]) == ([b"1-0", b"1-1", b"1-2"], "100")


def test_what_is_no_place_is_422_and_deleted_rows_are_410(api, acme) -> None:
    job = stages.running(acme)
    assert [read(api, job, after).status_code for after in ("x", -1)] == [422, 422]
    job.data_deleted_at = clock.now()
    job.save()
    assert read(api, job).status_code == 410
