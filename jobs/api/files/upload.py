"""A file is uploaded: `POST /v1/files` (reference 000), checked line by line while it arrives."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from accounts.callers import Caller
from anex.core.errors import InvalidRequest, TooLarge, TooManyRequests, Unavailable, WrongMediaType
from jobs.api.files.exchange import Exchange, in_thread
from jobs.api.files.intake import MOST_AT_ONCE, Intake, in_own_thread, receiving
from jobs.api.files.pace import Pace, pieces
from jobs.api.files.rendering import render
from jobs.models import File, FileUpload
from jobs.services import uploads
from jobs.services.inputs import MAX_INPUT_BYTES
from jobs.storage.forms import MAX_FIELD_BYTES, UploadForm
from jobs.storage.policy import Refused

log = logging.getLogger(__name__)

PACE: Final = Pace()
# Boundaries and headers of parts, beside the file and the fields.
_MOST_BODY: Final = MAX_INPUT_BYTES + 2 * MAX_FIELD_BYTES
_LONGEST_NAME: Final = 255
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f]")

_FREED_S: Final = 2.0

_at_once = 0
_giving_up: Final[set[asyncio.Task[None]]] = set()


async def upload(exchange: Exchange) -> None:
    """Answer the file, which is then ready for a batch."""
    caller = await exchange.authenticate()
    if exchange.header(b"content-encoding") not in (None, "", "identity"):
        raise WrongMediaType("Send the file without Content-Encoding.")
    told = exchange.header(b"content-length") or ""
    if told.isdecimal() and int(told) > _MOST_BODY:
        raise _too_large()
    form = _form(exchange.header(b"content-type") or "")
    with _one_of_many():
        place = await in_thread(uploads.begin, organization_id=caller.organization_id)
        try:
            file, name = await _receive(exchange, form, caller, place)
        except BaseException:
            giving_up = asyncio.create_task(in_own_thread(_give_up, place))
            _giving_up.add(giving_up)
            giving_up.add_done_callback(_giving_up.discard)
            # Who is refused finds the place free, unless the store is slow.
            await asyncio.wait([giving_up], timeout=_FREED_S)
            raise
    await exchange.answer(200, render(file, name))


async def _receive(exchange: Exchange, form: UploadForm, caller: Caller, place: FileUpload) -> tuple[File, str]:
    async with _renewed(place) as lost, receiving(place, caller) as intake:
        received = 0
        async for piece in pieces(exchange, PACE):
            received += len(piece)
            if received > _MOST_BODY:
                raise _too_large()
            if lost.is_set():
                raise Unavailable("The upload was held up on our side for too long. Send the file again.")
            await _feed(form, piece, intake)
        _finish(form)
        await intake.finish()
    name = _clean(form.filename) or f"file-{place.pk.hex}.jsonl"
    stored, target = intake.result()
    file = await in_own_thread(uploads.complete, place, name=name, target=target, stored=stored, actor=caller.actor)
    return file, name


async def _feed(form: UploadForm, piece: bytes, intake: Intake) -> None:
    try:
        found = form.feed(piece)
    except Refused as refused:
        raise InvalidRequest(refused.message) from None
    if "purpose" in form.fields:
        _check_purpose(form)
    if intake.size + len(found) > MAX_INPUT_BYTES:
        raise _too_large()
    await intake.add(found)


def _form(content_type: str) -> UploadForm:
    try:
        return UploadForm(content_type, reads_on=True)
    except Refused as refused:
        raise InvalidRequest(refused.message) from None


def _finish(form: UploadForm) -> None:
    """The body has ended. Raises InvalidRequest where it was no whole form with a purpose and a file."""
    if form.complete and not form.has_file:
        raise InvalidRequest("file is missing: send the file in the field file.", param="file")
    if not form.complete:
        raise InvalidRequest("The form ends before its closing boundary.")
    _check_purpose(form)


def _check_purpose(form: UploadForm) -> None:
    purpose = form.fields.get("purpose")
    if purpose is None:
        raise InvalidRequest("purpose is missing: send purpose=batch.", param="purpose")
    if purpose != File.Purpose.BATCH:
        raise InvalidRequest("purpose must be batch.", param="purpose")


def _too_large() -> TooLarge:
    return TooLarge(f"A file may have at most {MAX_INPUT_BYTES:,} bytes (1 GiB): split it into several files.")


def _clean(filename: str) -> str:
    """What a file is called, without folders and what no one can read."""
    return _UNPRINTABLE.sub("", re.split(r"[/\\]", filename)[-1]).strip()[:_LONGEST_NAME]


@contextmanager
def _one_of_many() -> Iterator[None]:
    """What this process takes in at once has a bound, whoever sends it. Raises TooManyRequests."""
    global _at_once
    if _at_once >= MOST_AT_ONCE:
        raise TooManyRequests(
            "The service is busy with other uploads. Send the file again as Retry-After says.",
            code="too_many_uploads",
            retry_after=uploads.RETRY_S,
        )
    _at_once += 1
    try:
        yield
    finally:
        _at_once -= 1


@asynccontextmanager
async def _renewed(place: FileUpload) -> AsyncIterator[asyncio.Event]:
    """Keeps a place while the block lasts; the event tells that it was given up."""
    lost = asyncio.Event()
    renewing = asyncio.create_task(_renew(place, lost))
    try:
        yield lost
    finally:
        renewing.cancel()


async def _renew(place: FileUpload, lost: asyncio.Event) -> None:
    while not lost.is_set():
        await asyncio.sleep(uploads.LEASE.total_seconds() / 3)
        try:
            if not await in_thread(uploads.renew, place.pk):
                lost.set()
        except Exception as error:
            # Where nothing is written for long, somebody gives the place up, and the end finds out.
            log.warning("the place of an upload could not be renewed: %s", type(error).__name__)


def _give_up(place: FileUpload) -> None:
    try:
        uploads.give_up(place)
    except Exception as error:
        log.warning("what an upload left is for the sweep: %s", type(error).__name__)
