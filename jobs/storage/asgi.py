"""The HTTP side of the local disk's store, as S3 would answer: form uploads and signed downloads.

Raw ASGI: a body passes through in pieces, and no piece is taken in before the one before it is on disk. A client
that falls silent, or goes away, leaves nothing behind.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from functools import wraps
from typing import TypeVar
from urllib.parse import parse_qsl, urlencode

from django.conf import settings
from django.urls import re_path

from anex.core import clock
from anex.core.asgi import App, ClientGone, Receive, Scope, Send
from jobs.storage import local_store, policy
from jobs.storage.forms import UploadForm
from jobs.storage.interface import UPLOAD_LIMIT_S, ObjectMissing, Stored, StoreUnavailable
from jobs.storage.local import OBJECT_PATH, LocalStore
from jobs.storage.policy import Refused

Headers = dict[str, str]
Resource = TypeVar("Resource")

SILENCE_S = 60
WRITE_BYTES = 1024 * 1024
# Small enough that a slow client takes one within SILENCE_S.
SEND_BYTES = 256 * 1024
_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


def _endpoint(*methods: str) -> Callable[[App], App]:
    """Refuse other methods, and answer refusals and failures in S3's form."""

    def wrap(handler: App) -> App:
        @wraps(handler)
        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                if settings.ANEX_S3_BUCKET:
                    raise Refused("NoSuchBucket", 404, "Objects are not kept here.")
                if scope["method"] not in methods:
                    raise Refused("MethodNotAllowed", 405, f"Use {' or '.join(methods)}.")
                await handler(scope, receive, send)
            except ClientGone:
                return
            except Refused as refusal:
                await _refuse(scope, send, refusal)
            except ObjectMissing:
                await _refuse(scope, send, Refused("NoSuchKey", 404, "The object does not exist."))
            except StoreUnavailable as error:
                await _refuse(scope, send, Refused("ServiceUnavailable", 503, error.message))

        return answer

    return wrap


@_endpoint("POST")
async def upload(scope: Scope, receive: Receive, send: Send) -> None:
    """Store the file of a presigned form; 204 once it is durable, or 303 to where the form leads, as S3 answers."""
    form = UploadForm(_header(scope, b"content-type"))
    try:
        async with asyncio.timeout(UPLOAD_LIMIT_S):
            stored = await _take_in(local_store(), form, receive)
    except TimeoutError:
        raise Refused("RequestTimeout", 400, "The upload was not sent in time.") from None
    etag = f'"{stored.etag}"'
    # Signed like the rest, so it leads where we said.
    if url := form.fields.get(policy.RETURN_FIELD):
        told = urlencode({"bucket": local_store().bucket, "key": stored.key, "etag": etag})
        await _start(send, 303, {"etag": etag, "location": f"{url}{'&' if '?' in url else '?'}{told}"})
    else:
        await _start(send, 204, {"etag": etag})
    await _send_last(send, b"")


@_endpoint("GET", "HEAD")
async def download(scope: Scope, receive: Receive, send: Send) -> None:
    """Send the object of a signed link, or the range of it that is asked for."""
    objects, key = local_store(), scope["url_route"]["kwargs"]["key"]
    try:
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), max_num_fields=20))
    except ValueError:
        raise Refused("InvalidArgument", 400, "The query has too many fields.") from None
    disposition = policy.check_link(objects.signer, path=OBJECT_PATH + key, query=query, now=clock.now())
    async with _in_thread(objects.open(key)) as (file, stored):
        chosen = wanted(scope, stored)
        headers = {
            "accept-ranges": "bytes",
            "cache-control": "private, no-store",
            "content-disposition": disposition,
            "content-type": "application/octet-stream",
            "etag": f'"{stored.etag}"',
            "x-content-type-options": "nosniff",
        }
        start, end = chosen or (0, stored.size)
        headers["content-length"] = str(end - start)
        if chosen:
            headers["content-range"] = f"bytes {start}-{end - 1}/{stored.size}"
        await _start(send, 206 if chosen else 200, headers)
        if scope["method"] == "HEAD":
            await _send_last(send, b"")
            return
        file.seek(start)
        await send_blocks(file.read, end - start, receive, send)


# Served before Django; see anex/asgi.py.
routes = [
    re_path(r"^storage/upload$", upload),  # type: ignore[arg-type]
    re_path(r"^storage/object/(?P<key>.+)$", download),  # type: ignore[arg-type]
]


async def _take_in(objects: LocalStore, form: UploadForm, receive: Receive) -> Stored:
    """Read fields, check them, then write the file while counting it."""
    body = _body(receive)
    found = b""
    async for piece in body:
        found = form.feed(piece)
        if form.has_file:
            break
    else:
        form.finish()
    grant = policy.check_upload(objects.signer, form.fields, now=clock.now())
    size, buffer = 0, bytearray()
    async with _in_thread(objects.writer(grant.key)) as writer:
        async for piece in _file(found, body, form):
            size += len(piece)
            if size > grant.max_bytes:
                raise policy.too_large()
            buffer += piece
            if len(buffer) >= WRITE_BYTES:
                await asyncio.to_thread(writer.write, bytes(buffer))
                buffer.clear()
        form.finish()
        if size < grant.min_bytes:
            raise policy.too_small()
        await asyncio.to_thread(writer.write, bytes(buffer))
    return writer.stored


async def _file(first: bytes, body: AsyncIterator[bytes], form: UploadForm) -> AsyncIterator[bytes]:
    yield first
    async for piece in body:
        yield form.feed(piece)


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    """The pieces of a request's body. Raises TimeoutError on silence and ClientGone on a broken connection."""
    more = True
    while more:
        async with asyncio.timeout(SILENCE_S):
            event = await receive()
        if event["type"] == "http.disconnect":
            raise ClientGone
        more = event.get("more_body", False)
        yield event.get("body", b"")


@asynccontextmanager
async def _in_thread(manager: AbstractContextManager[Resource]) -> AsyncIterator[Resource]:
    """Enter and leave a blocking context manager off the event loop; after an error it is left at once."""
    resource = await asyncio.to_thread(manager.__enter__)
    try:
        yield resource
    except BaseException as error:
        manager.__exit__(type(error), error, error.__traceback__)
        raise
    await asyncio.to_thread(manager.__exit__, None, None, None)


def wanted(scope: Scope, stored: Stored) -> tuple[int, int] | None:
    """The single byte range asked for as [start, end), or None for the whole object (RFC 9110, 14.2)."""
    asked = _RANGE.fullmatch(_header(scope, b"range"))
    condition = _header(scope, b"if-range")
    if not asked or asked[1] == asked[2] == "" or condition not in ("", f'"{stored.etag}"'):
        return None
    if asked[1]:
        start, end = int(asked[1]), min(int(asked[2] or stored.size) + 1, stored.size)
        if asked[2] and int(asked[2]) < start:
            return None
    else:
        start, end = max(0, stored.size - int(asked[2])), stored.size
    if start >= end:
        raise Refused("InvalidRange", 416, "The requested range is not satisfiable")
    return start, end


async def send_blocks(read: Callable[[int], bytes], length: int, receive: Receive, send: Send) -> None:
    """Send so many bytes that `read` answers, in its own thread, as the rest of an answer. Raises ClientGone."""
    gone = asyncio.ensure_future(_disconnected(receive))
    try:
        while length and not gone.done():
            block = await asyncio.to_thread(read, min(SEND_BYTES, length))
            if not block:
                raise OSError("an object's file ended before its size")
            length -= len(block)
            async with asyncio.timeout(SILENCE_S):
                await send({"type": "http.response.body", "body": block, "more_body": True})
        await _send_last(send, b"")
    except TimeoutError:
        raise ClientGone from None
    finally:
        gone.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _refuse(scope: Scope, send: Send, refusal: Refused) -> None:
    body = refusal.xml()
    headers = {"content-type": "application/xml", "content-length": str(len(body))}
    if refusal.code == "RequestTimeout":
        headers["connection"] = "close"
    await _start(send, refusal.status, headers)
    await _send_last(send, b"" if scope["method"] == "HEAD" else body)


async def _start(send: Send, status: int, headers: Headers) -> None:
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})


async def _send_last(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body})


def _header(scope: Scope, name: bytes) -> str:
    values: list[bytes] = [value for key, value in scope["headers"] if key == name]
    return values[0].decode("latin-1") if values else ""
