"""What sells: workers, model servers, prices."""

import asyncio
from collections.abc import Iterator
from typing import Literal

from django.conf import settings

from anex.core import clock, swept
from anex.doctor.findings import Finding, broken, ok, warning
from billing import price_cards
from inference import catalogue
from inference.backends import health, registry
from inference.backends.client import Client
from inference.backends.health import Health
from inference.backends.registry import Server
from jobs.selectors import measures, queues


def workers() -> Iterator[Finding]:
    """Whether somebody runs jobs in this region."""
    found = measures.now()
    alive = dict(found.workers).get(settings.ANEX_REGION, 0)
    orphaned = sum(chunks.orphaned for chunks in found.chunks if chunks.region == settings.ANEX_REGION)
    if not alive:
        yield broken("workers", "none has a lease", "Start one: celery -A anex worker --pool threads -Q batch")
    elif orphaned:
        yield warning("workers", f"{alive} work, {orphaned} chunks wait to be taken over", "Look again in a minute.")
    else:
        yield ok("workers", f"{alive} work")


def scheduler() -> Iterator[Finding]:
    """Whether sweeps run: what time alone ends, alerts, money that dead processes left."""
    at, start = swept.last(settings.ANEX_REGION), "Start it: celery -A anex beat; and a worker of the queue batch"
    if at is None:
        yield broken("scheduler", "no sweep ever ran", f"{start}. The first one comes within a minute.")
    elif (ago_s := (clock.now() - at).total_seconds()) > swept.LATE_S:
        yield broken("scheduler", f"the last sweep ran {ago_s / 60:.0f} minutes ago", start)
    else:
        yield ok("scheduler", f"a sweep ran {max(0.0, ago_s):.0f} s ago")


def waiting_jobs() -> Iterator[Finding]:
    """Whether every model that has jobs in this region has servers, and as many as they want."""
    for queue in queues.every():
        if queue.region != settings.ANEX_REGION or not queue.jobs:
            continue
        told = f"{queue.model_id}: {queue.jobs} jobs, {queue.rows} rows wait for {queue.servers} servers"
        if not queue.servers:
            remedy = f"Start one (docs/gpu-workers.md) or name it: python manage.py backends set {queue.model_id} URL"
            yield broken("jobs", told, remedy)
        elif queue.wanted() > queue.servers:
            yield warning("jobs", told, f"{queue.wanted()} servers would be done within an hour.")
        else:
            yield ok("jobs", told)


def model_servers() -> Iterator[Finding]:
    """Every server of this region that is switched on: its key, its health, its model's price."""
    rows = [row for row in registry.every() if row.enabled and row.region == settings.ANEX_REGION]
    if not rows:
        yield warning("model servers", "there is none", "Name one: python manage.py backends set MODEL URL")
    for row in rows:
        if row.credential_env and not registry.key_in(row.credential_env):
            remedy = f"Set {row.credential_env} in the environment of web and worker processes."
            yield broken("model servers", f"{row.model_id} at {row.base_url}: its key is not set", remedy)
    if silent := registry.count_silent(settings.ANEX_REGION):
        remedy = "Start them again, or switch them off: python manage.py backends off MODEL URL"
        yield warning("model servers", f"{silent} were not heard of lately", remedy)
    servers = registry.live(settings.ANEX_REGION)
    for server, state in asyncio.run(_looked(servers)) if servers else []:
        place = f"{server.model_id} at {server.base_url}"
        if state == "well":
            yield ok("model servers", f"{place} is well")
        elif state == "locked":
            remedy = "Give it its key: backends set MODEL URL --credential-env NAME, and NAME in every process."
            yield broken("model servers", f"{place} is well and refuses {_key(server)}", remedy)
        else:
            yield broken("model servers", f"{place} is {state}", "See its log; check that this host may reach it.")


def prices() -> Iterator[Finding]:
    """Whether every model that has a server is known and has a price."""
    for model_id in sorted(registry.count_live(settings.ANEX_REGION)):
        if catalogue.get(model_id) is None:
            remedy = "Add its file to ANEX_MODELS_DIR (docs/add-a-model.md), or remove the server."
            yield broken("prices", f"{model_id} has a server and is not in the catalogue", remedy)
        elif price_cards.current(model_id) is None:
            remedy = f"Write prices/{model_id}.yaml in ANEX_MODELS_DIR (docs/add-a-model.md)."
            yield warning("prices", f"{model_id} has no price and cannot be sold", remedy)
        else:
            yield ok("prices", f"{model_id} has a price")


async def _looked(servers: list[Server]) -> list[tuple[Server, Health | Literal["locked"]]]:
    async with Client() as client:
        states = await asyncio.gather(*(_state(client, server) for server in servers))
    return list(zip(servers, states, strict=True))


async def _state(client: Client, server: Server) -> Health | Literal["locked"]:
    state = await health.look(client, server)
    return "locked" if state == "well" and not await health.takes_key(client, server) else state


def _key(server: Server) -> str:
    return "the key it is sent" if server.api_key else "requests without a key"
