"""What a worker makes of failures around a chunk: nothing stays claimed, nothing outside a row is blamed on it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import OperationalError

from accounts.models import Organization
from anex.core.actors import system
from billing.selectors import balances
from inference import catalogue
from inference.backends import registry
from inference.catalogue.schema import Model
from inference.requests.options import RowOptions
from inference.requests.typed import Reader
from jobs import storage
from jobs.models import Chunk
from jobs.run import claims, context, control, parts, pump, rows
from jobs.run.claims import Interrupted
from jobs.run.control import run_control
from jobs.run.pump import Pump
from jobs.services import cancellations
from jobs.storage.interface import StoreUnavailable
from jobs.storage.local import LocalStore
from tests.inference.scripted_server import ScriptedServer
from tests.jobs.run.driver import HandLease, approve, chat_line, claim_one, submit, validate
from tests.jobs.run.test_pump import result, wait_for, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

LINES = "\n".join(chat_line(f"row-{row}", f"say {row}") for row in range(40)).encode()


@pytest.fixture
def worker(engine: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pump]:
    """A pump that rests briefly, with a model server."""
    monkeypatch.setattr(pump, "REST_SECONDS", 0.01)
    monkeypatch.setattr(pump, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(pump, "REPAIR_SECONDS", 0.1)
    running = Pump(region="world", lease_seconds=5)
    yield running
    running.stop()


def failing(times: int, error: Exception, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that raises `error` at its first calls."""
    left = [times]

    def call(*args: Any, **kwargs: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise error
        return function(*args, **kwargs)

    return call


def test_a_claim_whose_answer_was_lost_is_claimed_again_by_its_own_worker(acme: Organization) -> None:
    approve(validate(submit(acme, LINES)))
    lease = HandLease()
    lost = claim_one(lease, "rows")
    assert lost is not None
    ask = {"region": "world", "kinds": ["rows"], "models": ["scripted"], "limit": 1}
    assert claims.claim(lease, **ask, held=[lost.id]) == []  # type: ignore[arg-type]
    assert claim_one(HandLease(), "rows") is None
    assert [found.id for found in claims.claim(lease, **ask)] == [lost.id]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("place", "name"),
    [(context, "load"), (claims, "claim"), (parts, "commit_part"), (pump, "finish_chunk"), (control, "finalize")],
)
@pytest.mark.parametrize("error", [OperationalError("gone"), StoreUnavailable("full"), LookupError("bug")])
def test_a_job_ends_well_whatever_failed_for_a_while(
    acme: Organization, worker: Pump, monkeypatch: pytest.MonkeyPatch, place: Any, name: str, error: Exception
) -> None:
    job = approve(validate(submit(acme, LINES)))
    monkeypatch.setattr(place, name, failing(4, error, getattr(place, name)))
    worker.start()
    job = wait_for(job, "done")
    assert [line["custom_id"] for line in result(job)] == [f"row-{row}" for row in range(40)]
    assert (job.success_rows or 0) + (job.truncated_rows or 0) == 40
    assert balances.get(acme.pk).held_nano == 0


@pytest.mark.parametrize("error", [OperationalError("gone"), StoreUnavailable("full")])
def test_an_outage_is_not_blamed_on_the_rows(
    acme: Organization, worker: Pump, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    job = approve(validate(submit(acme, LINES)))
    alone: list[int] = []
    monkeypatch.setattr(rows.ChunkRun, "_run_alone", lambda run, found: alone.append(run.claim.index))
    monkeypatch.setattr(LocalStore, "read_range", failing(6, error, LocalStore.read_range))
    worker.start()
    wait_for(job, "done")
    assert alone == []


@pytest.mark.parametrize("error", [OperationalError("gone"), RuntimeError("can't start new thread")])
def test_a_pump_that_gets_no_lease_asks_again(
    acme: Organization, worker: Pump, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    job = approve(validate(submit(acme, LINES)))
    monkeypatch.setattr(pump, "Lease", failing(3, error, pump.Lease))
    worker.start()
    wait_for(job, "done")


def test_a_row_that_cannot_be_handled_fails_alone(
    acme: Organization, worker: Pump, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = approve(validate(submit(acme, LINES)))
    real = rows.typed.reader

    def reader(model: Model, options: RowOptions) -> Reader:
        read = real(model, options)

        def parse(text: bytes) -> Any:
            if b"row-7" in text:
                raise ZeroDivisionError
            return read(text)

        return parse

    monkeypatch.setattr(rows.typed, "reader", reader)
    worker.start()
    job = wait_for(job, "done")
    assert {line["custom_id"]: line["error_type"] for line in result(job) if line["error"]} == {
        "row-7": "internal_error"
    }


def test_a_job_can_be_cancelled_while_no_server_is_left(
    acme: Organization, worker: Pump, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = approve(
        validate(submit(acme, b"\n".join(chat_line(f"row-{n}", "[[sleep 200]]").encode() for n in range(99))))
    )
    worker.start()
    chunk = Chunk.objects.filter(job=job, kind="rows", epoch__isnull=False)
    wait_until(chunk.exists)
    registry.switch(enabled=False, model_id="scripted", actor=system("test"))
    cancellations.cancel(organization_id=acme.pk, job_id=job.pk, actor=system("test"))
    job = wait_for(job, "cancelled")
    assert balances.get(acme.pk).held_nano == 0


def test_an_input_that_is_gone_before_its_sample_ends_the_job(acme: Organization, worker: Pump) -> None:
    job = validate(submit(acme, LINES, requested_max_output_tokens=None))
    storage.store().delete([job.input.key])
    worker.start()
    job = wait_for(job, "failed")
    assert (job.failure_code, job.charge_cents) == ("invalid_input", 0)


def test_a_job_whose_model_left_the_catalogue_waits_for_it(
    acme: Organization, worker: Pump, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = approve(validate(submit(acme, LINES)))
    real, gone = catalogue.get, [True]
    monkeypatch.setattr(catalogue, "get", lambda model_id: None if gone[0] else real(model_id))
    worker.start()
    other = submit(acme, LINES)
    other = wait_for(other, "failed")
    assert other.failure_code == "internal_error"
    assert not Chunk.objects.filter(job=job, kind="rows", epoch__isnull=False).exists()
    gone[0] = False
    wait_for(job, "done")


def test_a_check_that_is_told_to_stop_is_given_back_unharmed(acme: Organization) -> None:
    job = submit(acme, LINES)
    claim = claim_one(HandLease(), "validate")
    assert claim is not None
    with pytest.raises(Interrupted):
        run_control(claim, go_on=lambda: False)
    claims.release(claim)
    assert validate(job).status == "cost_ready"
