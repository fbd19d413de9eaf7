"""Clients that leave at any moment: every request is settled once, nothing stays held, the ledger is exact.

ANEX_TEST_LEAVERS is how many; `make leavers` runs 10,000.
"""

import asyncio
import os
import random
import time
from collections import Counter

from accounts.models import Organization
from accounts.services import organizations
from anex.core.actors import system
from realtime import settlement
from tests.realtime.leavers import POINTS, leave
from tests.realtime.served import Surface, until
from tests.realtime.tills import check_books

REQUESTS = int(os.environ.get("ANEX_TEST_LEAVERS", "300"))
AT_ONCE = 32


def crowd(surface: Surface, chance: random.Random) -> Counter[str]:
    """How so many requests ended for their clients, a few at once."""

    async def one(gate: asyncio.Semaphore) -> str:
        async with gate:
            return await leave(surface.port, surface.key.header, random.Random(chance.getrandbits(64)))

    async def all_of_them() -> Counter[str]:
        gate = asyncio.Semaphore(AT_ONCE)
        return Counter(await asyncio.gather(*(one(gate) for _ in range(REQUESTS))))

    return asyncio.run(all_of_them())


def test_ledger_is_exact_whenever_clients_leave(surface: Surface, scripted) -> None:
    organization = Organization.objects.get()
    organizations.limit_in_flight(organization_id=organization.pk, limit=500, reason="a test", actor=system("tests"))
    seed = random.randrange(2**32)
    began = time.monotonic()
    outcomes = crowd(surface, random.Random(seed))
    print(f"\nseed {seed}: {REQUESTS} requests in {time.monotonic() - began:.0f} s: {dict(outcomes)}")
    assert set(outcomes) <= {"200", "reset", *POINTS}
    # What a client left behind may be read after the last of them is gone.
    until(lambda: not surface.server.server_state.tasks and not surface.server.server_state.connections)
    until(lambda: scripted.stats()["in_flight"] == 0)
    records = surface.settled(outcomes["200"])
    print(f"settled: {dict(Counter((record.surface, record.status) for record in records))}")
    check_books(organization)
    assert sum(record.status == "answered" for record in records) >= outcomes["200"]
    assert {record.status for record in records} <= {"answered", "left"}
    house = surface.house["realtime"]
    assert not any(load.in_flight for load in house.servers._loads.values())
    assert not house.till._open
    until(lambda: house.till._writer._room == settlement.ROOM)
