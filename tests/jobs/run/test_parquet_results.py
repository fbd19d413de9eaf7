"""The result of a parquet job: its rows in order, its own columns, and the answers beside them."""

from typing import Any

import pyarrow as pa
import pytest

from accounts.models import Organization
from anex.core.actors import system
from billing.selectors import balances
from inference.backends import registry
from jobs.models import Job
from jobs.run import claims, cutting, finalization
from jobs.run.claims import Claim, Interrupted
from jobs.run.control import run_control
from jobs.run.parquet import process
from jobs.run.parquet.parent import Lost
from jobs.services import retries
from jobs.storage import store
from tests.inference.scripted_server import ScriptedServer
from tests.jobs.run import finished
from tests.jobs.run.driver import HandLease, approve, submit, validate
from tests.jobs.run.finished import finish
from tests.jobs.run.parquet.files import packed, rows, unpacked
from tests.jobs.run.test_pump import result as lines_of
from tests.jobs.run.test_pump import wait_for

ACTOR = system("test")


def result(job: Job) -> pa.Table:
    assert job.result_key.endswith(".parquet")
    return unpacked(store().read(job.result_key))


def quoted(organization: Organization, table: pa.Table, **fields: Any) -> Job:
    return validate(submit(organization, packed(table), format="parquet", **fields))


def retry(job: Job) -> Job:
    return retries.retry(organization_id=job.organization_id, job_id=job.pk, actor=ACTOR)


@pytest.mark.django_db(transaction=True)
def test_chat_rows_are_answered_in_order_beside_their_columns(acme: Organization, engine: Any, pump: Any) -> None:
    table = rows(40, score=[row / 7 for row in range(40)], tags=[["a", None]] * 40)
    table = table.set_column(1, "input", pa.array(["[[status 400]]" if row == 3 else "fine" for row in range(40)]))
    job = wait_for(
        submit(acme, packed(table), format="parquet", requested_max_output_tokens=None), "cost_ready", "failed"
    )
    job = wait_for(approve(job), "done", "failed")
    found = result(job)
    assert (job.status, job.result_rows, job.error_rows) == ("done", 40, 1)
    assert found.column("custom_id").to_pylist() == table.column("custom_id").to_pylist()
    assert found.select(["score", "tags"]).equals(table.select(["score", "tags"]))
    assert "input" not in found.schema.names
    (refused,) = [row for row in found.to_pylist() if row["output"] is None]
    assert (refused["custom_id"], refused["error_type"], refused["status_code"]) == (
        "row-3",
        "invalid_request_error",
        None,
    )
    assert set(found.column("status_code").to_pylist()) == {200, None}
    assert (job.charge_cents or 0) >= 1
    assert balances.get(acme.pk).held_nano == 0


@pytest.mark.django_db(transaction=True)
def test_texts_get_their_vectors(acme: Organization, engine: ScriptedServer, pump: Any) -> None:
    registry.configure(model_id="scripted-embed", base_url=engine.base_url, served_name="scripted", actor=ACTOR)
    fields = {"model_id": "scripted-embed", "task_type": "embed", "requested_max_output_tokens": None}
    job = submit(acme, packed(rows(20, n=list(range(20)))), format="parquet", dimensions=64, **fields)
    job = wait_for(approve(wait_for(job, "cost_ready", "failed")), "done", "failed")
    found = result(job)
    assert found.column("n").to_pylist() == list(range(20))
    assert {len(vector) for vector in found.column("embedding").to_pylist()} == {64}


@pytest.mark.usefixtures("served")
def test_cancelled_job_delivers_the_rows_it_finished(acme: Organization, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "CHUNK_ROWS", 7)
    job = finish(quoted(acme, rows(50, n=list(range(50)))), dict.fromkeys([0, 6, 7, 20, 49], "success"))
    assert (job.status, job.partial, job.result_rows) == ("cancelled", True, 5)
    assert result(job).column("n").to_pylist() == [0, 6, 7, 20, 49]


@pytest.mark.usefixtures("served")
def test_cancelled_job_without_a_finished_row_has_no_result(acme: Organization) -> None:
    job = finish(quoted(acme, rows(3)), {})
    assert (job.status, job.result_key) == ("cancelled", "")
    assert not list(store().list(f"jobs/{job.pk}/result"))


@pytest.mark.usefixtures("served")
def test_retry_of_failed_rows_is_a_parquet_job_with_their_columns(
    acme: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "CHUNK_ROWS", 4)
    table = rows(10, n=pa.array(range(10)), label=pa.array(["x", "y"] * 5).dictionary_encode())
    kinds = {row: "error" if row in (1, 4, 8) else "success" for row in range(9)}
    again = validate(retry(finish(quoted(acme, table), kinds)))
    assert (again.status, again.row_count, again.input.format) == ("cost_ready", 4, "parquet")
    own = unpacked(store().read(again.input.key, etag=again.input.etag))
    assert own.equals(table.take([1, 4, 8, 9]))
    last = validate(retry(finish(again, {0: "success", 1: "error", 2: "success", 3: "success"})))
    done = finish(last, {0: "success"})
    assert result(done).column("n").to_pylist() == [4]
    assert result(done).schema.field("label").type == table.schema.field("label").type


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("fault", ["input deleted", "child lost again and again"])
def test_rows_are_delivered_as_json_lines_where_the_file_cannot_be_read_any_more(
    acme: Organization, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    def until_it_ends(claim: Claim) -> None:
        for _ in range(finalization.TRIES - claim.claims):
            with pytest.raises(Lost):
                run_control(claim)
            claims.release(claim, blameless=False)
            (claim,) = claims.claim(HandLease(), region="world", kinds=["finalize"], models=[], limit=1)
        run_control(claim)

    job = quoted(acme, rows(2))
    if fault == "input deleted":
        store().delete([job.input.key])
    else:
        monkeypatch.setattr(process, "COMMAND", ["false"])
        monkeypatch.setattr(finished, "run_control", until_it_ends)
    job = finish(job, {0: "success", 1: "success"})
    assert (job.status, job.result_rows) == ("done", 2)
    assert [line["custom_id"] for line in lines_of(job)] == ["row-0", "row-1"]
    assert len(list(store().list(f"jobs/{job.pk}/result"))) == 1


@pytest.mark.usefixtures("served")
def test_result_whose_reader_was_killed_is_parquet_all_the_same(
    acme: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost_once(claim: Claim) -> None:
        with monkeypatch.context() as killed, pytest.raises(Lost):
            killed.setattr(process, "COMMAND", ["false"])
            run_control(claim)
        run_control(claim)

    monkeypatch.setattr(finished, "run_control", lost_once)
    assert result(finished.finish(quoted(acme, rows(2)), {0: "success", 1: "success"})).num_rows == 2


@pytest.mark.usefixtures("served")
def test_result_that_was_interrupted_is_written_anew(acme: Organization, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted_once(claim: Claim) -> None:
        calls = iter([True, True, False])
        with pytest.raises(Interrupted):
            run_control(claim, go_on=lambda: next(calls))
        assert not list(store().list(f"jobs/{claim.job_id}/result"))
        run_control(claim)

    monkeypatch.setattr(finished, "run_control", interrupted_once)
    assert result(finished.finish(quoted(acme, rows(2)), {0: "success", 1: "success"})).num_rows == 2
