"""However a batch ends: every custom_id is on one line of its files, once and in order, and the charge is §5.5's."""

import random
from datetime import timedelta
from typing import Any

import pytest

from accounts.models import Organization
from anex.core import clock
from anex.core.actors import system
from anex.core.money import NANO_PER_CENT, ceil_cents, cents_to_nano
from billing.models import Hold
from billing.selectors import balances
from jobs.lifecycle import Status
from jobs.models import Job, JobEvent
from jobs.run import claims, cutting
from jobs.run.control import run_control
from jobs.run.failures import stop_rows
from jobs.run.finalization import finish_rows
from jobs.run.problems import Problem
from jobs.selectors import batches as selectors
from jobs.services import batches as services
from jobs.services import erasing, retries
from jobs.storage import store
from tests.jobs import batches
from tests.jobs.run.driver import HandLease, claim_one, validate
from tests.jobs.run.finished import answer, claim_rows

pytestmark = pytest.mark.usefixtures("served")
KINDS = ("success", "truncated", "error", "format_error")


def end_window(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(created_at=clock.now() - timedelta(hours=24))
    services.expire(clock.now())


def cancel(job: Job) -> None:
    services.cancel(organization_id=job.organization_id, job_id=job.pk, actor=system("tests"))


def finalize(lease: HandLease) -> None:
    claim = claim_one(lease, "finalize")
    assert claim
    run_control(claim)


def running(organization: Organization, rows: int) -> Job:
    job = validate(batches.create(organization, *(batches.line(f"row-{row}") for row in range(rows))))
    assert job.status == "in_progress"
    return job


def assert_delivered(job: Job, kinds: dict[int, str]) -> None:
    """Each row once over both files, in order; those not in `kinds` were not run."""
    files, rows = batches.delivered(job), range(job.row_count or 0)
    done = [f"row-{row}" for row in rows if kinds.get(row) in ("success", "truncated")]
    failed = [f"row-{row}" for row in rows if f"row-{row}" not in done]
    assert {part: batches.ids(lines) for part, lines in files.items()} == {
        part: names for part, names in (("output", done), ("error", failed)) if names
    }
    lines = [line for part in files.values() for line in part]
    assert len({line["id"] for line in lines}) == len(rows)
    code = {"cancelled": "batch_cancelled", "expired": "batch_expired", "internal_error": "batch_failed"}
    not_run = [line for line in files.get("error", []) if int(line["custom_id"][4:]) not in kinds]
    assert {line["error"]["code"] for line in not_run} <= {code.get(job.stop_reason, "")}


@pytest.mark.parametrize("seed", range(100))
def test_stopped_at_any_point(acme: Organization, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(cutting, "CHUNK_ROWS", rng.randint(1, 5))
    stop = rng.choice((cancel, end_window))
    job, before, cost = running(acme, rng.randint(1, 12)), balances.get(acme.pk), rng.choice((1, 700_000, 5_000_000))
    chosen = {row: rng.choice(KINDS) for row in range(job.row_count or 0) if rng.random() < 0.7}
    lease, delivered, stopped_after = HandLease(), {}, rng.randint(0, 12)
    held = claim_rows(lease, job)
    for number, claim in enumerate(held):
        if number == stopped_after:
            stop(job)
        rows = {row: kind for row, kind in chosen.items() if claim.first_row <= row < claim.first_row + claim.row_count}
        answer(claim, rows, rng, cost_nano=cost)
        delivered |= rows
        if len(rows) < claim.row_count:
            claims.release(claim)
    if not finish_rows(job.pk):
        stop(job)
    finalize(lease)
    job.refresh_from_db()
    assert_delivered(job, delivered)
    consumed = cost * sum(kind != "error" for kind in delivered.values())
    due = max(NANO_PER_CENT, cents_to_nano(ceil_cents(consumed))) if consumed else 0
    after = balances.get(acme.pk)
    assert before.balance_nano - after.balance_nano == min(due, cents_to_nano(job.quote_cents or 0))
    assert (after.held_nano, Hold.objects.filter(settled_at=None).count()) == (0, 0)
    assert job.status == ("done" if len(delivered) == job.row_count and not job.stop_reason else "cancelled")
    assert JobEvent.objects.filter(job=job, type=job.status).count() == 1


@pytest.mark.parametrize(("stop", "status"), [(cancel, "cancelled"), (end_window, "expired")])
def test_a_running_batch_of_which_nothing_was_run_names_every_request(
    acme: Organization, stop: Any, status: str
) -> None:
    job = running(acme, 2)
    stop(job)
    stop(job)
    finalize(HandLease())
    job.refresh_from_db()
    assert_delivered(job, {})
    assert (job.charge_cents, job.partial, job.result_key, balances.get(acme.pk).held_nano) == (0, False, "", 0)
    assert batches.shown(job)["status"] == status
    assert batches.shown(job)["output_file_id"] is None


def test_a_batch_that_is_finalizing_when_its_window_closes_completes(acme: Organization) -> None:
    job, lease, rng = running(acme, 2), HandLease(), random.Random(0)
    (claim,) = claim_rows(lease, job)
    answer(claim, {0: "success", 1: "error"}, rng)
    assert finish_rows(job.pk)
    end_window(job)
    finalize(lease)
    shown = batches.shown(job)
    assert (shown["status"], shown["request_counts"]) == ("completed", {"total": 2, "completed": 1, "failed": 1})
    assert shown["completed_at"] >= shown["finalizing_at"] >= shown["in_progress_at"]


def test_a_retry_of_its_failed_requests_is_a_job_that_keeps_their_settings(acme: Organization) -> None:
    job, lease = running(acme, 3), HandLease()
    (claim,) = claim_rows(lease, job)
    answer(claim, {0: "success", 1: "error", 2: "format_error"}, random.Random(0))
    finish_rows(job.pk)
    finalize(lease)
    again = validate(retries.retry(organization_id=acme.pk, job_id=job.pk, actor=system("tests")))
    assert (again.status, again.row_count, again.row_profile, again.max_output_tokens) == (
        "cost_ready",
        2,
        "openai",
        16,
    )
    assert not selectors.is_batch(again.pk)


def test_details_of_a_failure_go_with_the_data_and_its_code_stays(acme: Organization) -> None:
    job = validate(batches.create(acme, batches.line("a"), batches.line("a")))
    assert batches.shown(job)["errors"]["data"][0]["code"] == "duplicate_custom_id"
    erasing.erase(job)
    (error,) = batches.shown(job)["errors"]["data"]
    assert (error["code"], error["line"], error["param"]) == ("invalid_input", 2, None)


def test_a_batch_whose_input_is_gone_fails_with_what_it_has(acme: Organization) -> None:
    job, lease = running(acme, 2), HandLease()
    (claim,) = claim_rows(lease, job)
    answer(claim, {0: "success"}, random.Random(0))
    store().delete([job.input.key])
    stop_rows(job.pk, store(), Problem("input_gone", 0, "The input file was replaced or deleted."))
    finalize(lease)
    shown = batches.shown(job)
    assert shown["status"] == "failed"
    assert shown["errors"]["data"] == [
        {"code": "input_gone", "line": None, "message": "The input file was replaced or deleted.", "param": None}
    ]
    assert {part: batches.ids(lines) for part, lines in batches.delivered(job).items()} == {"output": ["row-0"]}


def test_of_two_attempts_to_finalize_one_delivers_and_the_other_leaves_nothing(acme: Organization) -> None:
    job, lease = running(acme, 1), HandLease()
    (claim,) = claim_rows(lease, job)
    answer(claim, {0: "success"}, random.Random(0))
    finish_rows(job.pk)
    first = claim_one(lease, "finalize")
    assert first
    run_control(first)
    run_control(first)
    job.refresh_from_db()
    kept = [stored.key for stored in store().list(f"jobs/{job.pk}/result")]
    assert (job.status, kept) == (Status.DONE, [job.result_key])
