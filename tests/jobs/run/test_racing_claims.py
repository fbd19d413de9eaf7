"""Workers that ask at the same moment, as they do when they are rung, never get the same piece of work."""

import threading
from collections import Counter
from collections.abc import Callable

import pytest
from django.db import connection

from accounts.models import Organization
from anex.core import clock
from jobs.models import Ingest, Input
from jobs.run import claims, ingests
from tests.factories import make_input, make_organization
from tests.jobs.run.driver import HandLease, approve, chat_line, submit, validate

pytestmark = pytest.mark.django_db(transaction=True)
WORKERS, ROUNDS = 6, 12
Claim = Callable[[HandLease, list[int]], list[int]]


def race(claim: Claim) -> Counter[int]:
    """How often each piece was claimed, by workers that give nothing back."""
    leases, start, found = [HandLease() for _ in range(WORKERS)], threading.Barrier(WORKERS), Counter[int]()

    def work(lease: HandLease) -> None:
        held: list[int] = []
        for _ in range(ROUNDS):
            start.wait(30)
            held += claim(lease, held)
        found.update(held)
        connection.close()

    threads = [threading.Thread(target=work, args=[lease]) for lease in leases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_chunks(acme: Organization, served: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.run.cutting.CHUNK_ROWS", 1)
    lines = "\n".join(chat_line(f"row-{row}") for row in range(WORKERS * ROUNDS))
    approve(validate(submit(acme, lines.encode())))

    def claim(lease: HandLease, held: list[int]) -> list[int]:
        options = {"region": "world", "kinds": ["rows"], "models": ["scripted"], "limit": 1, "held": held}
        return [found.id for found in claims.claim(lease, **options)]  # type: ignore[arg-type]

    found = race(claim)
    assert len(found) > WORKERS
    assert set(found.values()) == {1}


def test_copies(db: None) -> None:
    for number in range(WORKERS * ROUNDS):
        source = make_input(make_organization(f"Organization {number}"), status=Input.State.COPYING)
        Ingest.objects.create(input=source, due_at=clock.now())

    def claim(lease: HandLease, held: list[int]) -> list[int]:
        found = ingests.claim(lease, region="world", held=held)  # type: ignore[arg-type]
        return [found.id] if found else []

    found = race(claim)
    assert len(found) > WORKERS
    assert set(found.values()) == {1}
