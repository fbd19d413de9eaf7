"""What one request used, and its end: settled exactly once, whichever way it goes."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from types import TracebackType

from accounts.callers import Caller
from anex.core import clock
from anex.core.errors import AnexError
from anex.core.usage import Usage
from billing import requests
from billing.pricing import PriceCard, row_cost_nano
from billing.request_keys import RequestKey
from billing.requests import Ended, Status

log = logging.getLogger(__name__)

_OURS = 500


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request that may run: who asks, what is held for it and under which source, and when it began (monotonic).

    `request_key` is the idempotency key it came under.
    """

    request_id: str
    source: str
    caller: Caller
    surface: str
    model_id: str
    hold_nano: int
    most: Usage
    card: PriceCard
    began: float
    request_key: RequestKey | None = None


class Meter:
    """Counts one admitted request and settles it when the block it guards is left.

    By itself a block that ends is `answered`; a client error that is raised is `refused`; any other exception `failed`,
    and a cancelled task `left`, which is what a client that goes away does. `refused` and `failed` pay for what is
    kept alone. The rest pays for what the server reported last, within what is possible; where it reported nothing, for
    what was relayed.
    """

    def __init__(
        self, admitted: Admitted, settle: Callable[[Ended], None], freed: Callable[[Admitted], Awaitable[None]]
    ) -> None:
        self.admitted = admitted
        self._freed = freed
        self._settle: Callable[[Ended], None] | None = settle
        self._most = admitted.most
        self._reported: Usage | None = None
        self._pieces = 0
        self._kept: Usage | None = None

    def sent(self, media: Usage) -> None:
        """The items of the request as they turned out to be; their fees are billed with the answer."""
        self._most = replace(
            self._most,
            images=media.images,
            clips=media.clips,
            video_ms=min(media.video_ms, self._most.video_ms),
            audio_ms=min(media.audio_ms, self._most.audio_ms),
        )

    def report(self, usage: Usage) -> None:
        """What the server says it has used so far, in all; the last report counts."""
        self._reported = usage

    def relay(self, pieces: int = 1) -> None:
        """Generated text went to the client; counted as tokens only where the server never reports."""
        self._pieces += pieces

    def keep(self, usage: Usage) -> None:
        """What is paid for even if the request ends as `refused` or `failed`: a part of its answer was delivered."""
        self._kept = usage

    def end(self, status: Status) -> bool:
        """Settle as `status`; False, and no change, for what ended before."""
        if self._settle is None:
            return False
        settle, self._settle = self._settle, None
        used = self._used(status)
        admitted = self.admitted
        settle(
            Ended(
                source=admitted.source,
                organization=str(admitted.caller.organization_id),
                key=admitted.caller.key_id,
                surface=admitted.surface,
                model=admitted.model_id,
                amount=admitted.hold_nano,
                charge=row_cost_nano(admitted.card, used, "realtime") if used else 0,
                status=status,
                input=used.input_tokens if used else 0,
                cached=used.cached_tokens if used else 0,
                output=used.output_tokens if used else 0,
                images=self._most.images,
                clips=self._most.clips,
                video_ms=self._most.video_ms,
                audio_ms=self._most.audio_ms,
                duration_ms=round((clock.monotonic() - admitted.began) * 1000),
                **requests.key_facts(admitted.request_key),
            )
        )
        return True

    async def finish(self, status: Status = "answered") -> None:
        """End, before the last bytes of the answer are sent: whoever has them may send the next request at once.

        Where the organization has many requests in flight, this waits until the slot is free, for a moment at most.
        """
        if self.end(status):
            await self._freed(self.admitted)

    def billed(self) -> Usage:
        """What the request would pay for if it ended now, answered."""
        most = self._most
        if self._reported is None:
            return requests.own_count(most, pieces=self._pieces)
        return requests.believed(self._reported, most)

    def price_nano(self, *, refused: bool = False) -> int:
        """What the request would be charged if it ended now, answered or refused."""
        used = self._delivered() if refused else self.billed()
        return min(row_cost_nano(self.admitted.card, used, "realtime"), self.admitted.hold_nano) if used else 0

    def _delivered(self) -> Usage | None:
        return self._kept and requests.believed(self._kept, self._most)

    def _used(self, status: Status) -> Usage | None:
        """What is paid for; None where nothing is."""
        if status in ("refused", "failed"):
            return self._delivered()
        most, told, used = self._most, self._reported, self.billed()
        if told is None:
            if status == "left" and not self._pieces:
                return None
            log.warning("%s: the server reported no usage; our own count is billed", self.admitted.source)
        elif (told.input_tokens, told.cached_tokens, told.output_tokens) != (
            used.input_tokens,
            used.cached_tokens,
            used.output_tokens,
        ):
            log.warning("%s: reported %s, possible at most %s; that is billed", self.admitted.source, told, most)
        return used

    def __enter__(self) -> "Meter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.end("answered")
        elif isinstance(error, AnexError) and error.status < _OURS:
            self.end("refused")
        elif isinstance(error, Exception):
            self.end("failed")
        else:
            self.end("left")
