"""How fast a file has to arrive (reference 000, batch input file)."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from anex.core import clock
from anex.core.errors import TimedOut
from jobs.api.files.exchange import Exchange

_KIB: Final = 1024


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds of silence, of grace before the average counts, and in all; bytes a second on average."""

    silence_s: float = 60.0
    grace_s: float = 60.0
    bytes_per_s: int = 256 * _KIB
    limit_s: float = 1800.0


async def pieces(exchange: Exchange, pace: Pace) -> AsyncIterator[bytes]:
    """The body, piece by piece. Raises TimedOut (408) where it comes too slowly, ClientGone.

    Time in which nobody asks for the next piece is not the client's, except that the whole has an end.
    """
    begun, waited, size = clock.monotonic(), 0.0, 0
    while not exchange.heard_out:
        asked = clock.monotonic()
        left = begun + pace.limit_s - asked
        try:
            async with asyncio.timeout(max(0.0, min(pace.silence_s, left))):
                piece = await exchange.hear()
        except TimeoutError:
            raise _too_long(pace) if left <= pace.silence_s else _silent(pace) from None
        waited += clock.monotonic() - asked
        size += len(piece)
        if waited > pace.grace_s and size < pace.bytes_per_s * waited:
            raise TimedOut(
                f"The upload came slower than {pace.bytes_per_s // _KIB} KiB/s on average after its first "
                f"{pace.grace_s:g} seconds. Send it again."
            )
        yield piece


def _silent(pace: Pace) -> TimedOut:
    return TimedOut(f"The upload sent nothing for {pace.silence_s:g} seconds. Send it again.")


def _too_long(pace: Pace) -> TimedOut:
    return TimedOut(f"The upload took longer than {pace.limit_s / 60:g} minutes. Send it again.")
