"""Who may run a request now: one statement reads the key, checks everything in its order and places the hold.

Nothing is cached that could admit. Requests of one key that come while its statement is under way share the next one.
"""

import asyncio
import uuid
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec
import orjson
from psycopg.errors import LockNotAvailable

from accounts.callers import Caller
from accounts.plans import DEFAULT_PLAN, PlanTerms
from accounts.selectors import freezes
from accounts.services import keys
from anex.core import clock
from anex.core.errors import AnexError, Unavailable
from anex.core.usage import Usage
from billing import requests
from billing.pricing import PriceCard
from billing.request_keys import RequestKey
from billing.requests import Asked, Ended
from realtime.database import Away, Database
from realtime.holder import Holder
from realtime.lanes import Lanes
from realtime.meter import Admitted
from realtime.settlement import Writer
from realtime.threads import in_thread

# The requests an organization may have in flight, over both hosts, unless its row says otherwise (reference 000).
IN_FLIGHT = 8
# A hold that nobody settles ends after this, even if its process lives: longer than any answer takes.
LONGEST_S = 3600
# A slot is free once the settlement is written, which may be a moment after a client has its answer or has left
# (see Meter.finish). Who finds none looks again after so many seconds before it is refused.
LOOKS_S: Final = (0.015, 0.045)

# By surface of the usage record: the surface a plan must have, and the scope a key needs.
_RIGHTS: Final = {
    "chat": ("chat", "text:write"),
    "responses": ("chat", "text:write"),
    "completions": ("chat", "text:write"),
    "embeddings": ("embeddings", "embeddings:write"),
    "decisions": ("decisions", "decisions:write"),
}


# Refusals that may be over in a moment.
_PASSING: Final = ("in_flight", "model_busy")
_AWAY: Final = "Requests cannot be admitted just now. Try again."


class _Answer(NamedTuple):
    caller: Caller
    verdict: dict[str, Any] | None


class Admission:
    """Asks the database for one process."""

    def __init__(self, database: Database, holder: Holder, writer: Writer) -> None:
        self._database = database
        self._holder = holder
        self._writer = writer
        self._lanes: Lanes[tuple[str, bytes], Asked, _Answer] = Lanes(self._ask)
        self._crowded: set[UUID] = set()

    def is_crowded(self, organization_id: UUID) -> bool:
        """Whether the organization had more than half of its requests in flight when it last asked for one here."""
        return organization_id in self._crowded

    async def admit(
        self,
        header: str | None,
        *,
        surface: str,
        card: PriceCard,
        most: Usage,
        model_limit: int | None = None,
        request_key: RequestKey | None = None,
        request_id: str | None = None,
    ) -> Admitted:
        """Place the hold of a request that can use `most`; surfaces are those of usage records.

        It goes by `request_id`, which no other has had; a new one where there is none.

        Refused are, in this order: the key (401), a suspended organization (403, `org_suspended`), a frozen API (503,
        `frozen`), scope, surface and model (403), the idempotency key (`KeyTaken`, 409), the balance (402), the key's
        ceilings (429, `insufficient_quota`), requests in flight, those of the model (429). 501 without a realtime
        price, 503 where the database does not answer.
        """
        began = clock.monotonic()
        amount = requests.hold_nano(card, most)
        key_id, digest = keys.credential(header)
        request_id = request_id or uuid.uuid4().hex
        asked = Asked(f"req:{request_id}", *_RIGHTS[surface], surface, card.model, amount, model_limit)
        if request_key:
            asked = _under(request_key, asked)
        self._writer.take_room()
        try:
            caller = await self._place((key_id, digest), asked, request_key, card)
        except BaseException:
            self._writer.give_room_back()
            raise
        return Admitted(request_id, asked.source, caller, surface, card.model, amount, most, card, began, request_key)

    async def _place(
        self, name: tuple[str, bytes], asked: Asked, request_key: RequestKey | None, card: PriceCard
    ) -> Caller:
        caller, verdict = await self._answer(name, asked)
        for pause_s in LOOKS_S:
            if verdict is None or verdict["why"] not in _PASSING:
                break
            await asyncio.sleep(pause_s)
            caller, verdict = await self._answer(name, asked)
        if verdict is not None:
            raise requests.refusal(verdict, asked, caller, card=card, today=clock.now().date(), key=request_key)
        return caller

    async def _answer(self, name: tuple[str, bytes], asked: Asked) -> _Answer:
        future = self._lanes.put(name, asked)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            future.add_done_callback(lambda done: self._give_up(done, asked))
            raise

    def _give_up(self, done: "asyncio.Future[_Answer]", asked: Asked) -> None:
        """The client left before its admission was known."""
        if not done.cancelled() and done.exception() is None and done.result().verdict is None:
            self._writer.put_unused(_unused(asked))

    async def _ask(self, name: tuple[str, bytes], group: list[Asked]) -> list[_Answer]:
        key_id, digest = name
        values = [key_id, digest, clock.now(), self._holder.id, IN_FLIGHT, LONGEST_S, requests.as_json(group)]
        try:
            ((refused, facts, crowded, verdicts),) = await self._database.ask(requests.ADMIT, values)
        except Away as error:
            # Where it was sent, the holds may be there.
            for asked in group if error.sent else ():
                self._writer.put_unused(_unused(asked))
            raise Unavailable(_AWAY, retry_after=1) from error
        except LockNotAvailable as error:
            raise Unavailable(_AWAY, retry_after=1) from error
        if refused == "frozen":
            raise await in_thread(freezes.refusal, "realtime")
        if refused:
            raise _REFUSALS[refused]()
        caller = _read_caller(key_id, facts)
        (self._crowded.add if crowded else self._crowded.discard)(caller.organization_id)
        return [_Answer(caller, verdict and orjson.loads(verdict)) for verdict in verdicts]


_REFUSALS: Final[dict[str, Callable[[], AnexError]]] = {
    "key": keys.invalid,
    "suspended": keys.suspended,
}


@lru_cache(maxsize=4096)
def _read_caller(key_id: str, facts: str) -> Caller:
    """The caller that the database's facts describe; the same words are the same caller."""
    told = orjson.loads(facts)
    models, plan = told["models"], told["plan"]
    return Caller(
        key_id,
        UUID(told["organization"]),
        frozenset(told["scopes"]),
        None if models is None else frozenset(models),
        DEFAULT_PLAN if plan is None else PlanTerms(**(plan | {"surfaces": frozenset(plan["surfaces"])})),
    )


def _under(key: RequestKey, asked: Asked) -> Asked:
    return msgspec.structs.replace(asked, **requests.key_facts(key), key_seconds=key.seconds, key_tries=key.tries)


def _unused(asked: Asked) -> Ended:
    return requests.unused(source=asked.source, surface=asked.surface, model=asked.model, amount=asked.amount)
