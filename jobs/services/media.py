"""Pictures and clips that a request names by URL and that nobody else hosts (reference 004, uploads).

No row knows of them. An object's key says whose it is and until when, and the URL that is answered for it is signed:
whoever has it may read the object. Requests that name it are given the bytes out of the store, those of their own
organization alone. The sweep deletes what is past its time.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import parse_qs
from uuid import UUID

from django.conf import settings
from django.core.signing import BadSignature, Signer

from accounts.selectors import freezes
from anex.core import clock
from anex.core.errors import NotFound, TooLarge
from billing.selectors import balances
from inference import catalogue
from inference.media.fetching import MIB, MOST_BYTES, most_mib
from inference.media.formats import FORMATS, Modality, format_of_media_type
from inference.refusals import row_error
from jobs.services import residency
from jobs.storage import keys, store
from jobs.storage.interface import ObjectChanged, ObjectMissing, UploadTarget

UPLOAD_WINDOW: Final = timedelta(minutes=15)
# Longer than an upload that began in its window takes, and with the pause between two sweeps below a day.
LIFETIME: Final = timedelta(hours=23)
READ_PATH: Final = "/v1/uploads/"
_LINK_S: Final = 300
_FIELD: Final = "content_type"


@dataclass(frozen=True, slots=True)
class MediaUpload:
    """A file that may be uploaded now: where to, how large in bytes, and the URL that is then sent in a request."""

    target: UploadTarget
    max_bytes: int
    upload_ends: datetime
    read_url: str
    ends: datetime


def create(*, organization_id: UUID, content_type: str) -> MediaUpload:
    """A target for one file of a media type.

    Raises `RowError` for a type that no model takes, Unavailable (uploads are frozen), Misdirected (residency),
    PaymentRequired (no balance), StoreUnavailable.
    """
    kind = content_type.partition("/")[0].strip().lower()
    modality: Modality = kind if kind in FORMATS else "image"
    format = format_of_media_type(content_type, modality, at=_FIELD)
    max_bytes = _most_bytes(organization_id, modality)
    freezes.require_open("uploads")
    region = residency.choose(organization_id=organization_id, asked=None)
    balances.require_positive(organization_id)
    now = clock.now().replace(microsecond=0)
    ends, upload_ends = now + LIFETIME, now + UPLOAD_WINDOW
    key = keys.media(organization_id, int(ends.timestamp()), format)
    target = store(region).presign_upload(key, max_bytes=max_bytes, expires_at=upload_ends)
    return MediaUpload(target, max_bytes, upload_ends, _read_url(key), ends)


def read(organization_id: UUID, url: str, most_bytes: int) -> bytes | None:
    """The file behind a URL that `create` answered for the organization; None for every other host's URL. It blocks.

    Raises NotFound for what is forged, another organization's, past its time or was never uploaded; TooLarge,
    StoreUnavailable.
    """
    if not url.startswith(_base()):
        return None
    name, _, query = url.removeprefix(_base()).partition("?")
    key = _signed_key(name, parse_qs(query).get("signature", [""])[0])
    if keys.media_owner(key) != organization_id:
        raise _absent()
    objects = store(settings.ANEX_REGION)
    stored = objects.stat(key)
    if stored is None:
        raise _absent()
    if stored.size > most_bytes:
        raise TooLarge(f"The file is larger than {most_bytes} bytes.")
    try:
        return objects.read(key, etag=stored.etag)
    except (ObjectMissing, ObjectChanged):
        raise _absent() from None


def link(name: str, signature: str) -> str:
    """Where the store sends the file that a read URL names, for a while. Raises NotFound, StoreUnavailable."""
    key, objects = _signed_key(name, signature), store(settings.ANEX_REGION)
    if objects.stat(key) is None:
        raise _absent()
    return objects.presign_download(key, expires_in_s=_LINK_S, filename=f"upload.{keys.format_of(key)}")


def forget(now: datetime) -> int:
    """Delete the files past their time; answers how many. Raises StoreUnavailable."""
    objects = store(settings.ANEX_REGION)
    over = [stored.key for stored in objects.list(keys.MEDIA) if keys.media_end(stored.key) <= now.timestamp()]
    objects.delete(over)
    return len(over)


def _most_bytes(organization_id: UUID, modality: Modality) -> int:
    """The largest file that any model takes by URL."""
    taken = [
        most_mib(model, modality)
        for model in catalogue.all_models()
        if modality in model.inputs and model.is_for(organization_id) and model.realtime
    ]
    if not taken:
        raise row_error("unsupported_format", _FIELD, found=modality, modality="media", supported="image")
    return min(max(taken) * MIB, MOST_BYTES)


def _base() -> str:
    """What read URLs start with. Requests take https alone; a development server's without it are never fetched."""
    return f"https://{settings.ANEX_PUBLIC_URL.rstrip('/').partition('://')[2]}{READ_PATH}"


def _read_url(key: str) -> str:
    name = key.removeprefix(keys.MEDIA)
    return f"{_base()}{name}?signature={_signer().signature(name)}"


def _signed_key(name: str, signature: str) -> str:
    try:
        key = keys.MEDIA + _signer().unsign(f"{name}:{signature}")
    except BadSignature:
        raise _absent() from None
    if keys.media_end(key) <= clock.now().timestamp():
        raise _absent()
    return key


def _signer() -> Signer:
    return Signer(salt="anex.jobs.media")


def _absent() -> NotFound:
    return NotFound("There is no such upload, or its time is over.")
