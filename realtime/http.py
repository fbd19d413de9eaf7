"""One HTTP request to a raw handler: its body within limits, its answer, and whether its client is still there."""

import asyncio
import re
import zlib
from collections.abc import Awaitable, Callable, Iterable
from itertools import islice
from types import TracebackType
from typing import Any, Final

import orjson
from backports import zstd

from anex.core import asgi
from anex.core.asgi import ClientGone, Receive, Scope, Send
from anex.core.errors import AnexError, MethodNotAllowed, TimedOut, TooLarge, WrongMediaType
from anex.core.retrying import Headers, headers
from billing.request_keys import RequestKey
from inference.requests.profiles import Profile
from realtime import errors
from realtime.kept import Recorder
from realtime.threads import LONG_BYTES, aside

# All of a body has to be there by then.
BODY_S: Final = 300.0
# A zstd frame may ask its reader to remember 2 ** this many bytes.
_WINDOW_LOG: Final = 25
# Compressed bodies may be made of several, one behind the other: each costs a copy of the rest.
_MOST_PIECES: Final = 100
# Names of fields that stand in a header: as many, as long, of such characters.
_MOST_NAMES: Final = 32
_MOST_NAME: Final = 64
_TELLABLE: Final = re.compile(r"[\w.\-\[\]]+", re.ASCII)


JSON: Final = [(b"content-type", b"application/json")]

Vouch = Callable[[], Awaitable[None]]


class Exchange(asgi.Exchange):
    """A request to a surface and the answer to it; `is_long` is told once the body was read.

    `request_key` is the idempotency key it comes under, `recorder` keeps its answer. With `fills` the answer was begun
    before it was there.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send, profile: Profile) -> None:
        super().__init__(scope, receive, send)
        self.profile = profile
        self.is_long = False
        self.fills = False
        self.request_key: RequestKey | None = None
        self.recorder: Recorder | None = None

    def require_method(self, *methods: str) -> None:
        """Raise MethodNotAllowed (405)."""
        if self.scope["method"] not in methods:
            raise MethodNotAllowed(*methods)

    async def body(self, vouch: Vouch, *, decodes: bool = False) -> bytes:
        """The body as JSON text; with `decodes` it may be compressed.

        `vouch` raises for a client that nothing long is kept for: it is asked once there is, and before anything is
        decompressed. Raises TooLarge (413), also for what is too large once decompressed, WrongMediaType (415),
        TimedOut (408), ClientGone.
        """
        kind = self.header(b"content-type")
        if kind is not None and kind.partition(";")[0].strip().lower() != "application/json":
            raise WrongMediaType("Send the body as JSON, with Content-Type: application/json.")
        encoding = (self.header(b"content-encoding") or "identity").strip().lower()
        if encoding not in (("identity", "gzip", "zstd") if decodes else ("identity",)):
            taken = "gzip and zstd are taken" if decodes else "send it without Content-Encoding"
            raise WrongMediaType(f"The body is compressed in a way that is not taken here: {taken}.")
        try:
            async with asyncio.timeout(BODY_S):
                raw = await self._read(vouch)
        except TimeoutError:
            raise TimedOut(f"The body was not complete within {BODY_S:g} seconds.") from None
        if encoding != "identity":
            await vouch()
            raw = await asyncio.to_thread(self._decoded, raw, encoding)
        self.is_long = len(raw) > LONG_BYTES
        return raw

    async def _read(self, vouch: Vouch) -> bytes:
        most = self.profile.max_body_bytes
        told = self.header(b"content-length") or ""
        if told.isdigit() and int(told) > most:
            raise self._too_large()
        pieces, size, more, vouched = [], 0, True, False
        while more:
            if size > LONG_BYTES and not vouched:
                await vouch()
                vouched = True
            event = await self.receive()
            if event["type"] == "http.disconnect":
                raise ClientGone
            more = event.get("more_body", False)
            pieces.append(event.get("body", b""))
            size += len(pieces[-1])
            if size > most:
                raise self._too_large()
        return pieces[0] if len(pieces) == 1 else await aside(size > LONG_BYTES, b"".join, pieces)

    def _decoded(self, raw: bytes, encoding: str) -> bytes:
        most, rest = self.profile.max_body_bytes, raw
        decoded: bytes = b""
        for _ in range(_MOST_PIECES):
            unpack = _decompressor(encoding)
            try:
                decoded += unpack.decompress(rest, most + 1 - len(decoded))
            except (zlib.error, zstd.ZstdError):
                raise self.profile.misshapen(f"The body is not {encoding}, which its Content-Encoding says.") from None
            if len(decoded) > most:
                raise self._too_large()
            if not unpack.eof:
                raise self.profile.misshapen(f"The body ends before its {encoding} does.")
            rest = unpack.unused_data
            if not rest:
                return decoded
        raise self.profile.misshapen(f"The body is more than {_MOST_PIECES} pieces of {encoding}.")

    def _too_large(self) -> TooLarge:
        return TooLarge(f"The body of a request is at most {self.profile.max_body_bytes // 1024 // 1024} MiB.")

    def tell_ignored(self, names: Iterable[str]) -> None:
        """Name fields that are not applied in a header of the answer (reference 004)."""
        told = [name[:_MOST_NAME] for name in islice(names, _MOST_NAMES) if _TELLABLE.fullmatch(name[:_MOST_NAME])]
        if told:
            self.notes.append((b"x-anex-ignored-params", ", ".join(told).encode()))

    async def answer(self, value: Any) -> None:
        """200 with JSON."""
        await self.answer_bytes(200, orjson.dumps(value))

    async def refuse(self, error: AnexError) -> None:
        """The answer to what was refused or failed before anything was sent."""
        error = errors.worded(error, self.profile)
        more = headers(error)
        if error.status in (408, 413):
            # The rest of the body is not read.
            more.append((b"connection", b"close"))
        await self.answer_bytes(error.status, errors.body(error, self.profile), more)

    async def fill(self, headers: Headers, word: bytes) -> None:
        """Say something that means nothing, in an answer that is begun for it."""
        self.fills = True
        await self.begin(headers)
        await self.send({"type": "http.response.body", "body": word, "more_body": True})

    async def begin(self, headers: Headers) -> None:
        """Begin the answer with 200, unless it was."""
        if not self.answered:
            await self.start(200, headers)

    async def answer_bytes(self, status: int, body: bytes, more: Headers | None = None) -> None:
        """A whole answer in JSON; of one that was begun, the rest."""
        if not self.fills:
            await self.start(status, [*JSON, (b"content-length", str(len(body)).encode()), *(more or [])])
        await self.send({"type": "http.response.body", "body": body})


def _decompressor(encoding: str) -> Any:
    if encoding == "gzip":
        return zlib.decompressobj(wbits=31)
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG})


class Watched:
    """A block that is cancelled when its client goes away, and then ends without an exception; `left` tells it did.

    The body must have been read.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.left = False

    async def __aenter__(self) -> "Watched":
        task = asyncio.current_task()
        assert task
        self._task = task
        self._watch = asyncio.create_task(self._wait())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._watch.cancel()
        if self.left and kind is not None and issubclass(kind, asyncio.CancelledError):
            self._task.uncancel()
            return True
        return False

    async def _wait(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.left = True
        self._task.cancel()
