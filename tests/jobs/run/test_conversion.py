"""A parquet job reads rows that were made of its file: what is counted, what is refused, what a kill leaves behind."""

from typing import Any

import orjson
import pyarrow as pa
import pytest

from accounts.models import Organization
from anex.core import clock
from jobs.models import Input, Job
from jobs.run import conversion
from jobs.run.claims import Interrupted
from jobs.run.control import run_control
from jobs.run.parquet import process
from jobs.run.parquet.parent import Lost
from jobs.services import erasing, retention
from jobs.storage import store
from tests.jobs.run.driver import HandLease, chat_line, claim_one, submit, validate
from tests.jobs.run.parquet.files import packed, rows

pytestmark = pytest.mark.usefixtures("served")


def submitted(organization: Organization, table: pa.Table, **fields: Any) -> Job:
    return submit(organization, packed(table), format="parquet", **fields)


def converted(job: Job) -> list[str]:
    """The objects with converted rows that the store holds of a job."""
    return [stored.key for stored in store().list(f"jobs/{job.pk}/rows")]


def failure(job: Job) -> dict[str, Any]:
    return dict(orjson.loads(store().read(f"jobs/{job.pk}/failure.json")))


def test_rows_count_and_cost_what_the_same_lines_do(acme: Organization) -> None:
    lines = "\n".join(chat_line(f"row-{row}", f"say {row}") for row in range(3000))
    as_lines, job = validate(submit(acme, lines.encode())), validate(submitted(acme, rows(3000)))
    assert job.status == "cost_ready"
    for field in ("row_count", "est_input_tokens", "quote_cents", "longest_row_tokens"):
        assert getattr(job, field) == getattr(as_lines, field)
    assert converted(job) == [job.rows_key]
    assert job.input.format == "parquet"
    first = orjson.loads(store().read(job.rows_key, etag=job.rows_etag).splitlines()[0])
    assert first == orjson.loads(chat_line("row-0", "say 0"))


def test_problems_of_rows_name_the_row(acme: Organization) -> None:
    table = pa.table({"custom_id": ["a", "", "a", ""], "input": ["w", "x", "y", "z"]})
    job = validate(submitted(acme, table))
    assert (job.status, job.failure_code, job.failure_line) == ("failed", "invalid_input", 2)
    assert failure(job)["reason"].startswith("Row 2: custom_id")
    assert [error["line"] for error in failure(job)["errors"]] == [2, 3, 4]
    repeated = validate(submitted(acme, table.take([0, 2])))
    assert [error["line"] for error in failure(repeated)["errors"]] == [2]


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (rows(2).drop_columns("input"), 'The file has no column "input".'),
        (pa.table({"custom_id": ["a", "b"], "input": ["x", None]}), 'Row 2: The column "input" is null.'),
        (rows(1).slice(0, 0), "The input file has no rows."),
    ],
)
def test_file_that_is_not_taken_fails_the_job_with_the_reason(acme: Organization, table: pa.Table, reason: str) -> None:
    job = validate(submitted(acme, table))
    assert (job.status, job.failure_code, job.charge_cents) == ("failed", "invalid_input", 0)
    assert failure(job)["reason"] == reason


def test_jsonl_under_the_name_of_parquet_is_refused(acme: Organization) -> None:
    job = validate(submit(acme, chat_line().encode() * 10, format="parquet"))
    assert failure(job)["reason"].startswith("The file cannot be read as parquet: ")
    assert not converted(job)


def test_file_that_was_replaced_fails_the_job(acme: Organization) -> None:
    job = submitted(acme, rows(1))
    store().put(job.input.key, packed(rows(2)))
    assert failure(validate(job))["reason"] == "The input file was replaced or deleted after it was uploaded."


def test_check_that_was_stopped_begins_again_and_leaves_one_object(
    acme: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submitted(acme, rows(20_000))
    claim = claim_one(HandLease(), "validate")
    assert claim
    calls = iter([True, True, False])
    with pytest.raises(Interrupted):
        run_control(claim, go_on=lambda: next(calls))  # in the middle of the conversion
    assert not converted(job)
    with monkeypatch.context() as killed, pytest.raises(ZeroDivisionError):
        killed.setattr(conversion, "_adopt", lambda *_: 1 / 0)
        run_control(claim)  # between the object and its adoption
    assert len(converted(job)) == 1
    run_control(claim)
    job.refresh_from_db()
    assert (job.status, job.row_count) == ("cost_ready", 20_000)
    assert job.rows_key in converted(job)
    Job.objects.update(status="cancelled", data_expires_at=clock.now())
    assert erasing.erase_due(clock.now()) == 1
    assert not converted(job)  # nor what the killed attempt left


def test_check_that_goes_on_after_the_adoption_converts_nothing_again(
    acme: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submitted(acme, rows(2))
    claim = claim_one(HandLease(), "validate")
    assert claim
    assert conversion.give_rows(claim, go_on=lambda: True)
    monkeypatch.setattr(process, "convert", lambda *_, **__: 1 / 0)
    run_control(claim)
    job.refresh_from_db()
    assert job.status == "cost_ready"


def test_worker_whose_claim_was_taken_gives_the_job_no_rows(acme: Organization) -> None:
    job = submitted(acme, rows(2))
    claim = claim_one(HandLease(), "validate")
    assert claim
    job.chunks.update(epoch=None)
    run_control(claim)
    job.refresh_from_db()
    assert (job.rows_key, converted(job)) == ("", [])


def test_child_killed_by_the_machine_is_no_fault_of_the_file(
    acme: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submitted(acme, rows(2))
    monkeypatch.setattr(process, "COMMAND", ["false"])
    with pytest.raises(Lost):
        validate(job)
    job.refresh_from_db()
    assert job.status == "estimating"
    assert not converted(job)


def test_converted_rows_go_with_the_file_they_were_made_of(acme: Organization) -> None:
    job = validate(submitted(acme, rows(2)))
    Input.objects.update(expires_at=clock.now() - retention.MARGIN)
    assert retention.expire_inputs(clock.now()) == 0
    assert converted(job)
    Job.objects.update(status="cancelled")
    assert retention.expire_inputs(clock.now()) == 1
    assert not converted(job)
