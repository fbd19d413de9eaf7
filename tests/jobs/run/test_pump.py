"""The pump in this process against the scripted engine: what becomes of a job's rows, its charge and its file."""

import contextlib
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.db.models import Sum

from accounts.models import Organization
from anex.core import clock
from anex.core.actors import system
from anex.core.money import cents_to_nano
from billing.selectors import balances, usage
from billing.usage import Span
from inference.backends import retries
from jobs import storage
from jobs.models import Job, Part, Worker
from jobs.run import at_hand, cutting
from jobs.run.pump import Pump
from jobs.services import cancellations
from tests.inference.scripted_server import ScriptedServer
from tests.jobs.run.driver import approve, chat_line, submit, validate

pytestmark = pytest.mark.django_db(transaction=True)


def wait_for(job: Job, *statuses: str, seconds: float = 60) -> Job:
    """Look until the job has one of these statuses."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while job.status not in statuses:
        assert time.monotonic() < deadline, job.status
        pause.wait(0.05)
        job.refresh_from_db()
    return job


def wait_until(true: Callable[[], bool], seconds: float = 60) -> None:
    """Look until something holds."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not true():
        assert time.monotonic() < deadline
        pause.wait(0.05)


def result(job: Job) -> list[dict[str, Any]]:
    return [json.loads(line) for line in storage.store().read(job.result_key).splitlines()]


def run(organization: Organization, lines: list[str], **fields: Any) -> Job:
    job = wait_for(submit(organization, "\n".join(lines).encode(), **fields), "cost_ready")
    return wait_for(approve(job), "done", "failed", "cancelled")


def test_every_row_is_answered_once_in_order_and_charged_once(acme: Organization, engine: Any, pump: Pump) -> None:
    before = balances.get(acme.pk)
    job = run(acme, [chat_line(f"row-{row}", f"say {row}") for row in range(300)])
    assert job.status == "done"
    lines = result(job)
    assert [line["custom_id"] for line in lines] == [f"row-{row}" for row in range(300)]
    assert {line["response"]["status_code"] for line in lines} == {200}
    assert {line["error"] for line in lines} == {None}
    assert (job.success_rows or 0) + (job.truncated_rows or 0) == 300
    after = balances.get(acme.pk)
    assert after.held_nano == 0
    assert before.balance_nano - after.balance_nano == (job.charge_cents or 0) * 10_000_000
    assert 1 <= (job.charge_cents or 0) <= (job.quote_cents or 0)


def test_no_step_of_a_job_waits_for_the_poll(acme: Organization, engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.run.pump.POLL_SECONDS", 3600)
    monkeypatch.setattr(cutting, "CHUNK_ROWS", 4)
    pumps = [Pump(region="world", lease_seconds=7200) for _ in range(2)]
    for running in pumps:
        running.start()
    job = submit(acme, "\n".join(chat_line(f"row-{row}") for row in range(160)).encode())
    try:
        for running in pumps:
            running.ring()
        approve(wait_for(job, "cost_ready"))
        for running in pumps:
            running.ring()
        assert wait_for(job, "done").result_rows == 160
    finally:
        for running in pumps:
            running.stop()


def test_no_chunk_is_read_while_rows_of_many_bytes_wait(
    acme: Organization, engine: Any, pump: Pump, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_hand, "MAX_BYTES", 1)
    monkeypatch.setattr(cutting, "CHUNK_ROWS", 1)
    waiting: list[int] = []
    begin = pump._begin_run

    def begin_run(*arguments: Any) -> None:
        waiting.append(sum(other.undispatched for other in pump._runs.values()))
        begin(*arguments)

    monkeypatch.setattr(pump, "_begin_run", begin_run)
    job = run(acme, [chat_line(f"row-{row}") for row in range(12)])
    assert (job.status, waiting) == ("done", [0] * 12)


def test_usage_of_a_job_is_what_its_parts_add_up_to_at_the_price_charged(
    acme: Organization, engine: Any, pump: Pump
) -> None:
    job = run(acme, [chat_line(f"row-{i}") for i in range(3)], created_by="key:abcdefghijkl")
    (row,) = usage.rows(acme.pk, Span(clock.now().date(), clock.now().date()))
    sums = Part.objects.filter(chunk__job=job, chunk__kind="rows").aggregate(
        into=Sum("input_tokens"), cached=Sum("cached_tokens"), out=Sum("output_tokens")
    )
    assert (row.input_tokens, row.cached_tokens, row.output_tokens) == (sums["into"], sums["cached"], sums["out"])
    assert (row.model, row.key, row.surface, row.requests) == ("scripted", "abcdefghijkl", "batch", 3)
    assert row.amount_nano == cents_to_nano(job.charge_cents)


def test_a_cap_is_measured_on_a_sample_that_nobody_pays_for(acme: Organization, engine: Any, pump: Pump) -> None:
    lines = [chat_line(f"row-{row}", f"[[tokens {20 + row}]] say") for row in range(40)]
    job = wait_for(submit(acme, "\n".join(lines).encode(), requested_max_output_tokens=None), "cost_ready", "failed")
    assert job.status == "cost_ready"
    longest = max(int(line.split("[[tokens ")[1].split("]]")[0]) for line in lines)
    assert longest <= (job.max_output_tokens or 0) <= 2 * longest
    assert balances.get(acme.pk).held_nano == 0
    job = wait_for(approve(job), "done", "failed")
    assert job.status == "done"
    assert len(result(job)) == 40
    assert job.truncated_rows == 0


def test_a_sample_cut_off_at_the_models_limit_fails_with_a_way_out(acme: Organization, engine: Any, pump: Pump) -> None:
    lines = [chat_line(f"row-{row}", "[[tokens 100000]] say") for row in range(5)]
    job = wait_for(submit(acme, "\n".join(lines).encode(), requested_max_output_tokens=None), "cost_ready", "failed")
    assert (job.status, job.failure_code) == ("failed", "invalid_input")


def test_a_refused_row_fails_alone(acme: Organization, engine: Any, pump: Pump) -> None:
    lines = [chat_line(f"row-{row}", "[[status 400]]" if row == 3 else "fine") for row in range(8)]
    job = run(acme, lines)
    assert (job.status, job.error_rows) == ("done", 1)
    assert [line["error_type"] for line in result(job)] == [None] * 3 + ["invalid_request_error"] + [None] * 4
    assert result(job)[3]["response"] is None


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_row_that_meets_a_passing_fault_is_sent_again(
    acme: Organization, engine: Any, pump: Pump, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: int
) -> None:
    monkeypatch.setattr("inference.backends.retries.FIRST_WAIT_S", 0.001)
    job = run(acme, [chat_line(f"row-{row}", f"[[status {status} 2]] say {row}") for row in range(4)])
    assert (job.status, job.error_rows) == ("done", 0)
    assert len((tmp_path / "journal").read_text().splitlines()) == 3 * 4


def test_a_row_whose_fault_does_not_pass_is_an_error_row_after_the_last_attempt(
    acme: Organization, engine: Any, pump: Pump, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("inference.backends.retries.FIRST_WAIT_S", 0.001)
    job = run(acme, [chat_line("bad", "[[status 500]] say"), chat_line("good", "say")])
    assert (job.status, job.error_rows) == ("done", 1)
    assert [line["error_type"] for line in result(job)] == ["upstream_error", None]
    assert len((tmp_path / "journal").read_text().splitlines()) == retries.MOST_ATTEMPTS + 1


def test_a_job_whose_every_row_fails_costs_nothing(acme: Organization, engine: Any, pump: Pump) -> None:
    job = run(acme, [chat_line(f"row-{row}", "[[status 400]]") for row in range(4)])
    assert (job.status, job.error_rows, job.charge_cents) == ("done", 4, 0)
    assert balances.get(acme.pk).held_nano == 0
    assert len(result(job)) == 4


@pytest.mark.parametrize("usage", ["absurd", "negative", "nan", "null"])
def test_an_absurd_usage_never_costs_more_than_the_quote_nor_nothing(
    acme: Organization, engine: Any, pump: Pump, caplog: pytest.LogCaptureFixture, usage: str
) -> None:
    job = run(acme, [chat_line(f"row-{row}", f"[[usage {usage}]] say") for row in range(4)])
    assert job.status == "done"
    assert 1 <= (job.charge_cents or 0) <= (job.quote_cents or 0)
    cost = sum(Part.objects.filter(chunk__job=job).values_list("cost_nano", flat=True))
    assert cost > 0
    assert [record for record in caplog.messages if "impossible usage" in record] == (
        [] if usage == "null" else [f"job {job.pk}: a server of scripted reported impossible usage, which was clamped"]
    )


def test_an_answer_that_misses_its_format_is_counted_apart(acme: Organization, engine: Any, pump: Pump) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object", "required": ["a"]}}}
    lines = [
        chat_line("kept", "say", response_format=wanted),
        chat_line("missed", "[[echo]] say", response_format=wanted),
    ]
    job = run(acme, lines, requested_max_output_tokens=200)
    assert (job.success_rows, job.format_error_rows) == (1, 1)
    assert result(job)[1]["error_type"] == "response_format_unmet"


def test_a_job_cancelled_before_any_row_ran_costs_nothing(acme: Organization) -> None:
    job = approve(validate(submit(acme, chat_line().encode())))
    cancellations.cancel(organization_id=acme.pk, job_id=job.pk, actor=system("test"))
    job.refresh_from_db()
    assert (job.status, job.charge_cents) == ("cancelled", 0)
    assert balances.get(acme.pk).held_nano == 0


@pytest.mark.parametrize("death", ["[[poison]]", "[[die]]"])
def test_a_row_that_kills_its_server_fails_alone(
    acme: Organization, engine: ScriptedServer, pump: Pump, death: str
) -> None:
    lines = [chat_line(f"row-{row}", death if row == 5 else "fine") for row in range(10)]
    job = approve(wait_for(submit(acme, "\n".join(lines).encode()), "cost_ready"))
    stop = threading.Event()

    def nurse() -> None:
        while not stop.wait(0.05):
            if not engine.alive:
                # It may die again before it is seen to live.
                with contextlib.suppress(RuntimeError):
                    engine.restart()

    nursing = threading.Thread(target=nurse)
    nursing.start()
    try:
        job = wait_for(job, "done", "failed", seconds=120)
    finally:
        stop.set()
        nursing.join()
    assert job.status == "done"
    assert [line["error_type"] for line in result(job)] == [None] * 5 + ["server_died"] + [None] * 4


def test_files_that_wait_for_a_server_to_count_them_hold_up_no_others(
    acme: Organization, engine: Any, pump: Pump
) -> None:
    waiting = [submit(acme, chat_line().encode(), model_id="qwen3.8-27b") for _ in range(3)]
    wait_for(submit(acme, chat_line().encode()), "cost_ready", seconds=30)
    assert {Job.objects.get(pk=job.pk).status for job in waiting} <= {"submitted", "estimating"}


def test_a_pump_that_stops_signs_off(acme: Organization, engine: Any) -> None:
    running = Pump(region="world", lease_seconds=5)
    running.start()
    wait_for(submit(acme, chat_line().encode()), "cost_ready")
    running.stop()
    assert not Worker.objects.exists()
    connections.close_all()
