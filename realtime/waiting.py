"""Clients that wait: for an answer that takes long, or for the one that another request of their key is given.

An answer that is not there within seconds is begun, so that nothing on its way takes the connection for dead: a stream
with comments, JSON with spaces, which every parser skips. What goes wrong from then on is told under the 200
(reference 004, waiting, retries and idempotency).
"""

import asyncio
from collections.abc import Awaitable
from typing import Final, NamedTuple, TypeVar

from django.conf import settings

from accounts.services import keys
from anex.core.errors import AnswerTooSlow
from anex.core.retrying import Headers
from billing.request_keys import KeyTaken
from realtime import sse
from realtime.house import House
from realtime.http import JSON, Exchange
from realtime.kept import Kept

R = TypeVar("R")

# Connections of one process that wait for the same answer.
MOST_WAITING: Final = 8
_FIRST_LOOK_S: Final = 0.02
_LOOK_S: Final = 1.0


class Filler(NamedTuple):
    """How an answer begins and what it says in the meantime."""

    headers: Headers
    word: bytes


SPACES: Final = Filler(JSON, b" ")
COMMENTS: Final = Filler(sse.HEADERS, sse.KEEP_ALIVE)


async def kept_alive(exchange: Exchange, house: House, work: Awaitable[R], filler: Filler) -> R:
    """What work comes to, which goes on whatever happens here; its connection is kept alive where the surface does so.

    AnswerTooSlow (504, `run_timed_out`) when the connection has waited long enough.
    """
    patience, task = house.patience, asyncio.ensure_future(work)
    ends = asyncio.get_running_loop().time() + patience.connection_s
    pause = patience.commit_s if exchange.profile.commits_early else patience.connection_s
    while True:
        left = ends - asyncio.get_running_loop().time()
        if (await asyncio.wait({task}, timeout=min(pause, left)))[0]:
            return task.result()
        if left <= pause:
            raise _outlived(exchange)
        await exchange.fill(filler.headers, filler.word)
        pause = patience.keep_alive_s


async def join(exchange: Exchange, house: House, taken: KeyTaken, filler: Filler) -> Kept | None:
    """The answer to the request that has the key, None where it ended without one and the key may be free again.

    Raises `taken` where that request was paid for and its answer is not kept or another API key's, or too many wait for
    it, and as `kept_alive`.
    """
    key_id, _ = keys.credential(exchange.header(b"authorization"))
    if taken.is_open:
        with house.runs.waiting(taken.source) as others:
            if others >= MOST_WAITING:
                raise taken
            task = house.runs.start(_settled(house, taken.source))
            try:
                await kept_alive(exchange, house, task, filler)
            finally:
                task.cancel()
    if kept := await house.kept.get(taken.source, key_id=key_id):
        return kept
    if not taken.is_open:
        raise taken
    return None


async def _settled(house: House, source: str) -> None:
    pause_s = _FIRST_LOOK_S
    while await house.till.is_open(source):
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _LOOK_S)


def _outlived(exchange: Exchange) -> AnswerTooSlow:
    key = exchange.request_key
    assert key
    return AnswerTooSlow(
        "The answer takes longer than its connection is kept. It goes on and is charged once: send the same request "
        "again to be given it.",
        code="run_timed_out",
        retry_after=1,
        extra={
            "idempotency_key": key.text,
            "status_url": f"{settings.ANEX_PUBLIC_URL}{exchange.profile.name}/jobs/chat_{key.text}",
        },
    )
