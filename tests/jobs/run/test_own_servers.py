"""A server that a worker started for itself gets rows from that worker alone, which does nothing else."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from accounts.models import Organization
from anex.core.actors import system
from inference.backends import registry
from inference.models import Backend
from jobs.run.pump import Pump
from tests.jobs.run.driver import approve, chat_line, submit
from tests.jobs.run.test_pump import wait_for, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def own(engine: Any) -> SimpleNamespace:
    """The engine as a worker registers it; `backend_id` as its starter knows it."""
    Backend.objects.all().delete()
    backend_id = registry.register(
        model_id="scripted", base_url=engine.base_url, served_name="scripted", is_workers=True, actor=system("test")
    )
    return SimpleNamespace(backend_id=backend_id)


@pytest.fixture
def model_pump(own: SimpleNamespace) -> Iterator[Pump]:
    running = Pump(region="world", lease_seconds=5, own=own)
    running.start()
    yield running
    running.stop()


def test_rows_wait_for_the_worker_whose_server_it_is(
    acme: Organization, own: SimpleNamespace, pump: Pump, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = approve(wait_for(submit(acme, chat_line("row-1").encode()), "cost_ready"))
    looks, look = [], pump._look

    async def counted(lease: Any) -> None:
        await look(lease)
        looks.append(lease)

    monkeypatch.setattr(pump, "_look", counted)
    pump.ring()
    wait_until(lambda: len(looks) > 1)
    assert not job.chunks.exclude(epoch=None).filter(kind="rows").exists()
    other = Pump(region="world", lease_seconds=5, own=own)
    other.start()
    try:
        assert wait_for(job, "done").success_rows == 1
    finally:
        other.stop()


def test_worker_of_a_model_checks_no_input(acme: Organization, model_pump: Pump) -> None:
    job = submit(acme, chat_line("row-1").encode())
    wait_until(lambda: "scripted" in model_pump._windows)
    job.refresh_from_db()
    assert (job.status, job.chunks.get().epoch) == ("submitted", None)


def test_chunks_are_given_back_when_the_server_is_withdrawn(
    acme: Organization, own: SimpleNamespace, model_pump: Pump, pump: Pump
) -> None:
    lines = "\n".join(chat_line(f"row-{row}", "[[sleep 200]] say") for row in range(2_000))
    job = wait_for(submit(acme, lines.encode()), "cost_ready")
    approve(job)
    held = job.chunks.filter(kind="rows", closed=False).exclude(epoch=None)
    wait_until(held.exists)
    own.backend_id = None
    wait_until(lambda: not held.exists())
    assert job.chunks.filter(kind="rows", closed=False).exists()
