"""Answers that are kept for a while, so that a request sent again is given the first one's (reference 004).

They lie in Valkey: encrypted, for ten minutes at most, and under the name of the request's hold. Whoever does not find
one there is told that it was paid for. See docs/decisions/request-keys.md.
"""

import logging
import zlib
from typing import Final

import msgspec
from cryptography.fernet import InvalidToken
from django.conf import settings
from redis.asyncio import Redis
from redis.exceptions import RedisError

from anex.core import clock, sealing
from anex.core.asgi import Send
from realtime import sse
from realtime.threads import LONG_BYTES, aside

log = logging.getLogger(__name__)

PATIENCE_S: Final = 1.0
# How long Valkey is left alone after it did not answer.
REST_S: Final = 5.0
# Longer answers are not kept.
MOST_BYTES: Final = 16 * 1024 * 1024
_PURPOSE: Final = "kept-answer"


class Kept(msgspec.Struct, frozen=True):
    """An answer with status 200 as it was sent, what it cost in nano-dollars, and the API key it was given to."""

    body: bytes
    charged_nano: int
    key_id: str


class KeptAnswers:
    """Where a process keeps them; made in the event loop that uses it. That Valkey is away is no error."""

    def __init__(self, url: str) -> None:
        self._valkey = Redis.from_url(url, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S)
        self._rests_until = 0.0

    async def put(self, source: str, kept: Kept, *, seconds: int) -> None:
        """Keep the answer to a request, if that can be."""
        if clock.monotonic() < self._rests_until:
            return
        sealed = await aside(len(kept.body) > LONG_BYTES, _seal, kept)
        try:
            await self._valkey.set(_name(source), sealed, ex=seconds)
        except (RedisError, OSError) as error:
            self._rest(error)

    async def get(self, source: str, *, key_id: str) -> Kept | None:
        """The answer to a request, None where it is not kept or was given to another API key."""
        if clock.monotonic() < self._rests_until:
            return None
        try:
            sealed = await self._valkey.get(_name(source))
        except (RedisError, OSError) as error:
            self._rest(error)
            return None
        try:
            kept = None if sealed is None else await aside(len(sealed) > LONG_BYTES, _unseal, sealed)
        except (InvalidToken, msgspec.ValidationError):
            log.warning("what is kept of %s was written by another release or encrypted with another key", source)
            return None
        return kept if kept and kept.key_id == key_id else None

    async def close(self) -> None:
        """Let go of Valkey."""
        await self._valkey.aclose()

    def _rest(self, error: Exception) -> None:
        log.warning("answers are not kept: %s", type(error).__name__)
        self._rests_until = clock.monotonic() + REST_S


class Recorder:
    """Keeps one answer that is paid for, before it is settled: whoever sees that it is paid for finds it."""

    def __init__(self, answers: KeptAnswers, source: str, *, key_id: str, seconds: int) -> None:
        self._answers = answers
        self._source = source
        self._key_id = key_id
        self._seconds = seconds
        self._pieces: list[bytes] = []
        self._size = 0

    def recording(self, send: Send) -> Send:
        """`send`, that remembers what of a stream it sent."""

        async def record(event: dict[str, object]) -> None:
            piece = event.get("body")
            if isinstance(piece, bytes) and piece != sse.KEEP_ALIVE:
                self._add(piece)
            await send(event)

        return record

    async def keep(self, rest: bytes, *, charged_nano: int) -> None:
        """Keep what was recorded, and the rest of the answer."""
        self._add(rest)
        if self._size <= MOST_BYTES:
            kept = Kept(b"".join(self._pieces), charged_nano, self._key_id)
            await self._answers.put(self._source, kept, seconds=self._seconds)

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= MOST_BYTES:
            self._pieces.append(piece)
        else:
            self._pieces.clear()


def _seal(kept: Kept) -> bytes:
    return sealing.seal_bytes(zlib.compress(msgspec.msgpack.encode(kept), 1), purpose=_PURPOSE)


def _unseal(sealed: bytes) -> Kept:
    return msgspec.msgpack.decode(zlib.decompress(sealing.unseal_bytes(sealed, purpose=_PURPOSE)), type=Kept)


def _name(source: str) -> str:
    return f"{settings.ANEX_VALKEY_PREFIX}anex-answer:{source}"
