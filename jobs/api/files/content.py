"""What a file holds, streamed: `GET /v1/files/{id}/content`, whole or a range of it (RFC 9110, 14)."""

import asyncio
from collections.abc import Iterator

from django.utils.http import content_disposition_header

from anex.core.errors import AnexError
from jobs.api.files.exchange import Exchange, in_thread
from jobs.selectors import files
from jobs.storage import store
from jobs.storage.asgi import send_blocks, wanted
from jobs.storage.interface import ObjectChanged, ObjectMissing, Stored
from jobs.storage.policy import Refused


class RangeNotSatisfiable(AnexError):
    """416: the range lies behind the end of the file."""

    status = 416
    code = "range_not_satisfiable"


async def content(exchange: Exchange) -> None:
    """Send the file; answers while the API is frozen, as links to results do."""
    caller = await exchange.authenticate(answers_frozen=True)
    file_id = exchange.scope["url_route"]["kwargs"]["file_id"]
    file = await in_thread(files.get, caller.organization_id, file_id)
    name = await asyncio.to_thread(files.name, file)
    key, etag = files.object_of(file)
    size = file.size_bytes
    try:
        chosen = wanted(exchange.scope, Stored(key, size, etag))
    except Refused:
        error = RangeNotSatisfiable(f"The file has {size:,} bytes: the range asked for lies behind its end.")
        return await exchange.refuse(error, [(b"content-range", f"bytes */{size}".encode())])
    start, end = chosen or (0, size)
    blocks = _Blocks(store(file.region).stream(key, etag=etag, start=start, end=end))
    is_head = exchange.scope["method"] == "HEAD"
    try:
        if not is_head:
            await asyncio.to_thread(blocks.look)
    except (ObjectMissing, ObjectChanged):
        files.refuse_deleted(file)
    told = {
        "accept-ranges": "bytes",
        "cache-control": "private, no-store",
        "content-disposition": content_disposition_header(True, name) or "attachment",
        "content-length": str(end - start),
        "content-type": "application/octet-stream",
        "etag": f'"{etag}"',
        "x-content-type-options": "nosniff",
    }
    if chosen:
        told["content-range"] = f"bytes {start}-{end - 1}/{size}"
    await exchange.start(206 if chosen else 200, [(k.encode(), v.encode("latin-1")) for k, v in told.items()])
    await send_blocks(blocks.read, 0 if is_head else end - start, exchange.receive, exchange.send)


class _Blocks:
    """Blocks of a store, handed on in smaller pieces."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = memoryview(b"")

    def look(self) -> None:
        """Read the first block. Raises ObjectMissing, ObjectChanged, StoreUnavailable."""
        self._rest = memoryview(next(self._blocks, b""))

    def read(self, most: int) -> bytes:
        """Up to `most` bytes, none at the end."""
        if not self._rest:
            self.look()
        piece, self._rest = self._rest[:most], self._rest[most:]
        return bytes(piece)
