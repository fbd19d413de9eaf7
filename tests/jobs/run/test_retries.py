"""A retry runs exactly the rows of another job that have no good answer, as they were, with a price of its own."""

import json
import random
from typing import Any

import msgspec
import pytest

from accounts.models import Organization
from anex.core.actors import system
from billing import price_cards
from billing.selectors import balances
from jobs.models import Input, Job, Part
from jobs.run import cutting
from jobs.run.claims import Interrupted
from jobs.run.control import run_control
from jobs.services import retries
from jobs.storage import store
from tests.jobs.run.driver import HandLease, approve, chat_line, claim_one, submit, validate
from tests.jobs.run.finished import finish
from tests.jobs.run.test_pump import result, run, wait_for

ACTOR = system("test")


def retry(job: Job) -> Job:
    return retries.retry(organization_id=job.organization_id, job_id=job.pk, actor=ACTOR)


def lines_of(count: int, *, end: str = "\n") -> list[bytes]:
    return [(chat_line(f"row-{row}", f"say {row}") + end).encode() for row in range(count)]


def quoted(organization: Organization, lines: list[bytes], **fields: Any) -> Job:
    return validate(submit(organization, b"".join(lines), **fields))


def own_input(job: Job) -> bytes:
    job.refresh_from_db()
    return store().read(job.input.key, etag=job.input.etag)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.usefixtures("served")
def test_input_holds_the_failed_rows_byte_for_byte_in_their_order(
    acme: Organization, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(cutting, "CHUNK_ROWS", rng.randint(1, 7))
    lines = lines_of(rng.randint(1, 30), end=rng.choice(["\n", "\r\n", "\n\n \n"]))
    lines[-1] = lines[-1].rstrip() if rng.random() < 0.5 else lines[-1]
    kinds = ["success", "truncated", "error", "format_error", "left"]
    drawn = {row: rng.choices(kinds, [8, 2, 2, 1, rng.randint(0, 2)])[0] for row in range(len(lines))}
    drawn[0] = "error"
    job = finish(quoted(acme, lines), {row: kind for row, kind in drawn.items() if kind != "left"}, rng=rng)
    again = validate(retry(job))
    wanted = [line for line, kind in zip(lines, drawn.values(), strict=True) if kind not in ("success", "truncated")]
    assert own_input(again) == b"".join(line.rstrip(b" \n") + b"\n" for line in wanted)
    assert (again.status, again.row_count) == ("cost_ready", len(wanted))


@pytest.mark.usefixtures("served")
def test_rows_never_run_are_retried(acme: Organization) -> None:
    lines = lines_of(3)
    job = finish(quoted(acme, lines), {})
    assert job.status == "cancelled"
    assert own_input(validate(retry(job))) == b"".join(lines)


@pytest.mark.usefixtures("served")
def test_options_are_those_of_the_old_job(acme: Organization) -> None:
    job = finish(quoted(acme, lines_of(2), temperature=0.5, requested_max_output_tokens=7), {0: "error", 1: "success"})
    again = validate(retry(job))
    assert (again.temperature, again.requested_max_output_tokens, again.model_id) == (0.5, 7, "scripted")
    assert (again.retry_of_id, again.created_by) == (job.pk, "system:test")
    assert again.est_input_tokens == job.est_input_tokens // 2  # type: ignore[operator]


@pytest.mark.usefixtures("served")
def test_minimum_job_price_is_asked_for_until_it_was_paid_and_never_twice(
    acme: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = msgspec.structs.replace(price_cards.current("scripted"), minimum_job_cents=50)  # type: ignore[type-var]
    monkeypatch.setattr(price_cards, "current", lambda model_id: card)
    unpaid = finish(quoted(acme, lines_of(4)), {row: "error" for row in range(4)})
    assert (unpaid.quote_cents, unpaid.charge_cents) == (50, 0)
    paid = finish(validate(retry(unpaid)), {0: "error", 1: "error", 2: "success", 3: "success"})
    assert (paid.quote_cents, paid.charge_cents) == (50, 50)
    free = finish(validate(retry(paid)), {0: "error", 1: "error"})
    assert (free.quote_cents, free.charge_cents) == (1, 0)
    last = finish(validate(retry(free)), {0: "success", 1: "success"})
    assert (last.quote_cents, last.charge_cents) == (1, 1)
    assert balances.get(acme.pk).held_nano == 0


@pytest.mark.usefixtures("served")
def test_check_that_was_killed_begins_again_and_leaves_one_input(acme: Organization) -> None:
    job = finish(quoted(acme, lines_of(3)), {0: "error", 1: "success"})
    again = retry(job)
    claim = claim_one(HandLease(), "validate")
    assert claim
    with pytest.raises(Interrupted):
        run_control(claim, go_on=lambda: False)
    assert not list(store().list(f"jobs/{again.pk}/input"))
    calls = iter([True, False])
    with pytest.raises(Interrupted):
        run_control(claim, go_on=lambda: next(calls))  # after the input was written
    run_control(claim)
    assert own_input(again).count(b"\n") == again.row_count == 2
    assert Input.objects.count() == 2
    assert len(list(store().list(f"jobs/{again.pk}/input"))) == 1


@pytest.mark.usefixtures("served")
def test_worker_whose_claim_was_taken_gives_the_job_no_input(acme: Organization) -> None:
    job = finish(quoted(acme, lines_of(2)), {0: "error", 1: "success"})
    again = retry(job)
    claim = claim_one(HandLease(), "validate")
    assert claim
    again.chunks.update(epoch=None)
    run_control(claim)
    again.refresh_from_db()
    assert again.input_id == job.input_id
    assert not list(store().list(f"jobs/{again.pk}/input"))


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("lost", ["input", "part"])
def test_rows_deleted_meanwhile_fail_the_retry_free_of_charge(acme: Organization, lost: str) -> None:
    job = finish(quoted(acme, lines_of(2)), {0: "error", 1: "success"})
    again = retry(job)
    errors = Part.objects.filter(chunk__job=job, error_rows=1)
    store().delete([job.input.key] if lost == "input" else errors.values_list("key", flat=True))
    again = validate(again)
    assert (again.status, again.failure_code, again.charge_cents) == ("failed", "invalid_input", 0)
    assert not list(store().list(f"jobs/{again.pk}/input"))


@pytest.mark.django_db(transaction=True)
def test_retried_rows_are_answered_charged_and_delivered_alone(acme: Organization, engine: Any, pump: Any) -> None:
    lines = [chat_line(f"row-{row}", f"[[status 400 1]] {row}" if row in (2, 5) else "fine") for row in range(8)]
    job = run(acme, lines)
    assert (job.status, job.error_rows) == ("done", 2)
    before = store().read(job.result_key)
    again = wait_for(approve(wait_for(retry(job), "cost_ready")), "done")
    assert [line["custom_id"] for line in result(again)] == ["row-2", "row-5"]
    assert {line["error"] for line in result(again)} == {None}
    assert 1 <= (again.charge_cents or 0) <= (again.quote_cents or 0)
    assert store().read(job.result_key) == before
    assert json.loads(own_input(again).splitlines()[0])["custom_id"] == "row-2"
    assert balances.get(acme.pk).held_nano == 0
