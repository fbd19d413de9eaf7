"""Reads of inputs, always within one organization."""

from datetime import datetime
from typing import NoReturn
from uuid import UUID

from django.conf import settings

from anex.core.errors import NotFound
from jobs.models import Input
from jobs.storage import keys, store


def get(organization_id: UUID, input_id: UUID) -> Input:
    """The input; NotFound when it does not exist or is another organization's."""
    return _one(organization_id=organization_id, pk=input_id)


def get_by_uri(organization_id: UUID, input_s3_uri: str) -> Input:
    """The input that lives at `s3://bucket/key`; NotFound as in `get`. The other region's bucket is not known here."""
    key = input_s3_uri.partition("://")[2].partition("/")[2]
    try:
        source = _one(organization_id=organization_id, pk=UUID(key.rpartition("/")[2].partition(".")[0]))
    except ValueError:
        refuse_unknown()
    here = source.region == settings.ANEX_REGION
    if key != keys.input_name(source.key) or (here and input_s3_uri != uri(source)):
        refuse_unknown()
    return source


def uri(source: Input) -> str:
    """Where the file lives (reference 003, Input.input_s3_uri)."""
    return f"s3://{store(source.region).bucket}/{keys.input_name(source.key)}"


def deadline(source: Input, *, now: datetime) -> datetime | None:
    """The nearest deadline (003, Input.expires_at): the open upload window's end, or a ready file's retention."""
    if source.status == Input.State.AWAITING_UPLOAD and source.upload_expires_at and now < source.upload_expires_at:
        return source.upload_expires_at
    return source.expires_at if source.status == Input.State.READY else None


def refuse_unknown() -> NoReturn:
    """The one answer to an id that names nothing here: malformed, unknown and foreign ids look alike."""
    raise NotFound("No such input in this organization.")


def _one(**where: UUID | str) -> Input:
    source = Input.objects.filter(**where).first()
    return source or refuse_unknown()
