"""Clients that leave at any moment: every request is settled once, nothing stays held, the ledger is exact."""

import asyncio
import random
from collections import Counter
from typing import Any

import httpx

from accounts.models import Organization
from accounts.services import organizations
from anex.core.actors import system
from tests.realtime.served import Surface, until
from tests.realtime.tills import check_books

REQUESTS = 120


async def leave(client: httpx.AsyncClient, number: int, after_s: float) -> str:
    """One request that is given up after so long, in any state."""
    body: dict[str, Any] = {"model": "scripted", "max_tokens": 30, "stream": bool(number % 2)}
    body["messages"] = [{"role": "user", "content": f"[[tokens 20]] [[pace 5]] {number}"}]
    try:
        async with asyncio.timeout(after_s):
            return str((await client.post("/v1/chat/completions", json=body)).status_code)
    except TimeoutError:
        return "left"


def test_ledger_is_exact_whenever_clients_leave(surface: Surface, scripted) -> None:
    organization = Organization.objects.get()
    organizations.limit_in_flight(organization_id=organization.pk, limit=500, reason="a test", actor=system("tests"))
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)

    async def crowd() -> Counter[str]:
        limits = httpx.Limits(max_connections=24)
        headers = {"Authorization": surface.key.header}
        async with httpx.AsyncClient(base_url=surface.origin, headers=headers, limits=limits, timeout=30) as client:
            return Counter(await asyncio.gather(*(leave(client, n, chance.uniform(0, 2)) for n in range(REQUESTS))))

    outcomes = asyncio.run(crowd())
    assert set(outcomes) <= {"200", "left"}
    until(lambda: httpx.get(f"{scripted.origin}/stats").json()["in_flight"] == 0)
    records = surface.settled(outcomes["200"])
    check_books(organization, line_by_line=False)
    assert sum(record.status == "answered" for record in records) >= outcomes["200"]
    assert {record.status for record in records} <= {"answered", "left"}
