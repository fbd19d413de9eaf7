"""Inputs: the target a file is uploaded to, and the moment it has landed.

    awaiting_upload ──▶ ready ──▶ expired
           └──────────────────────▲
    pending ──▶ copying ──▶ ready ──▶ expired
                   └──▶ failed

The second line is that of an input copied from a URL (`ingests`). A ready input is one version of one object: its ETag
is pinned by the first settle and every read names it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction

from accounts.selectors import freezes
from accounts.services import audit
from anex.core import clock
from anex.core.actors import Actor
from anex.core.errors import Conflict, InvalidRequest, Unprocessable
from billing.selectors import balances
from jobs.models import Input
from jobs.selectors import contents, inputs
from jobs.services import residency
from jobs.storage import keys, store
from jobs.storage.interface import UPLOAD_LIMIT_S, UploadTarget
from jobs.storage.regions import NAMES

JSONL, PARQUET = FORMATS = ("jsonl", "parquet")
MAX_INPUT_BYTES = 1024**3
UPLOAD_WINDOW = timedelta(hours=1)
# The window is for the start of an upload (reference 001, POST /inputs); one that began in it may still land.
UPLOAD_GRACE = timedelta(seconds=UPLOAD_LIMIT_S)
RETENTION = timedelta(days=7)
_NOT_READY = {
    Input.State.AWAITING_UPLOAD: "The input is not ready yet. Upload its file first.",
    Input.State.PENDING: "The input is not ready yet: its copy has not begun. Poll it until it is ready.",
    Input.State.COPYING: "The input is not ready yet: it is being copied. Poll it until it is ready.",
    Input.State.FAILED: "The input could not be copied; its error says why. Create a new input.",
}
EXPIRED = "The input has expired. Create a new input and upload the file again."


@dataclass(frozen=True, slots=True)
class Standing:
    """An input for people: being copied (`moves`), ready, failed for a reason, or over."""

    id: UUID
    format: str
    size_bytes: int | None
    moves: bool
    is_ready: bool
    failure: str | None


def create_upload(
    *,
    organization_id: UUID,
    format: str | None,
    actor: Actor,
    data_residency: str | None = None,
    return_to: Callable[[UUID], str] | None = None,
) -> tuple[Input, UploadTarget]:
    """An input that awaits its file, and the presigned target for 0 to MAX_INPUT_BYTES bytes (001, POST /inputs).

    `return_to` is the URL by input to which the target sends a browser on, for forms that no script submits.
    Raises Unavailable (uploads are frozen), Forbidden and Misdirected (residency), InvalidRequest (no format),
    Unprocessable (unknown format), PaymentRequired (no balance), StoreUnavailable.
    """
    freezes.require_open("uploads")
    region = residency.choose(organization_id=organization_id, asked=data_residency)
    if format is None:
        raise InvalidRequest(
            "format is required for a direct upload: send the file's format, jsonl or parquet.", param="format"
        )
    if format not in FORMATS:
        raise Unprocessable(f"The format must be one of: {', '.join(FORMATS)}.", param="format")
    balances.require_positive(organization_id)
    input_id, now = uuid4(), clock.now().replace(microsecond=0)
    source = Input(
        id=input_id,
        organization_id=organization_id,
        region=region,
        status=Input.State.AWAITING_UPLOAD,
        format=format,
        key=keys.upload(organization_id, input_id, format),
        created_by=str(actor),
        upload_expires_at=now + UPLOAD_WINDOW,
    )
    target = store(source.region).presign_upload(
        source.key,
        max_bytes=MAX_INPUT_BYTES,
        expires_at=now + UPLOAD_WINDOW,
        return_to=return_to and return_to(input_id),
    )
    with transaction.atomic():
        source.save(force_insert=True)
        audit.record(organization_id=organization_id, actor=actor, action="input.create", target=str(input_id))
    return source, target


def create_whole(*, organization_id: UUID, format: str, data: bytes, actor: Actor) -> Input:
    """A ready input of bytes that are at hand, such as a sample file. Raises as `create_upload`."""
    source, _ = create_upload(organization_id=organization_id, format=format, actor=actor)
    store(source.region).put(source.key, data)
    return settle(source)


def look_up(*, organization_id: UUID, input_id: UUID) -> Input:
    """The input as it is now (001, GET /inputs/{id}). Raises NotFound, Misdirected, StoreUnavailable."""
    source = inputs.get(organization_id, input_id)
    residency.require_here(source.region)
    return settle(source)


def standing(*, organization_id: UUID, input_id: UUID) -> Standing:
    """The same for a page. Raises as `look_up`."""
    source = look_up(organization_id=organization_id, input_id=input_id)
    return Standing(
        id=source.pk,
        format=source.format,
        size_bytes=source.size_bytes,
        moves=source.status in (Input.State.PENDING, Input.State.COPYING),
        is_ready=source.status == Input.State.READY,
        failure=contents.ingest_failure(source),
    )


def settle(source: Input) -> Input:
    """Move an input on when its object has landed or its time is over; the same row comes back, fresh.

    Settles that race agree: the first one's ETag counts. Raises StoreUnavailable.
    """
    return settle_at(source, clock.now())


def settle_at(source: Input, now: datetime) -> Input:
    """`settle`, as of `now`."""
    change = _due(source, now)
    if change:
        Input.objects.filter(pk=source.pk, status=source.status).update(**change)
        source.refresh_from_db()
    return source


def for_job(
    *, organization_id: UUID, region: str, input_id: UUID | None = None, input_s3_uri: str | None = None
) -> Input:
    """The ready input that a job in `region` names, an upload that just finished included (001, POST /jobs).

    Raises Unprocessable unless exactly one name is given and for another region's input, NotFound, Conflict (not
    ready, expired), StoreUnavailable.
    """
    if input_id is not None and input_s3_uri is None:
        source = inputs.get(organization_id, input_id)
    elif input_s3_uri is not None and input_id is None:
        source = inputs.get_by_uri(organization_id, input_s3_uri)
    else:
        raise Unprocessable("Give exactly one of input_id and input_s3_uri.", param="input_id")
    if source.region != region:
        raise Unprocessable(
            f"The input is stored in {NAMES[source.region]}; a job in {NAMES[region]} needs one that is stored there.",
            param="data_residency",
        )
    source = settle(source)
    if source.status == Input.State.EXPIRED:
        raise Conflict(EXPIRED, code="input_expired")
    if source.status != Input.State.READY:
        raise Conflict(_NOT_READY[Input.State(source.status)], code="input_not_ready")
    return source


def erase_objects(source: Input) -> None:
    """Delete all that the store holds of an input: the file and rows made of it, a copy's URLs, secret and leftovers.

    Safe to repeat. Raises StoreUnavailable.
    """
    objects = store(source.region)
    beside = objects.list(keys.ingest_prefix(source.organization_id, source.pk))
    converted = source.jobs.exclude(rows_key="").values_list("rows_key", flat=True)
    objects.delete([source.key, *converted, *(stored.key for stored in beside)])


def require_ready(source: Input) -> None:
    """Let no expiry cross the transaction that makes a job of this input; Conflict when one was first."""
    ready = Input.objects.select_for_update(no_key=True).filter(pk=source.pk, status=Input.State.READY)
    if not ready.exists():
        raise Conflict(EXPIRED, code="input_expired")


def _due(source: Input, now: datetime) -> dict[str, Any]:
    """The fields to change, none when nothing has happened."""
    if source.status == Input.State.AWAITING_UPLOAD:
        stored = store(source.region).stat(source.key)
        if stored is not None:
            return {
                "status": Input.State.READY,
                "etag": stored.etag,
                "size_bytes": stored.size,
                "expires_at": now + RETENTION,
            }
        lapses_at = source.upload_expires_at and source.upload_expires_at + UPLOAD_GRACE
    elif source.status == Input.State.READY:
        lapses_at = source.expires_at
    else:
        return {}
    return {"status": Input.State.EXPIRED} if lapses_at and lapses_at <= now else {}
