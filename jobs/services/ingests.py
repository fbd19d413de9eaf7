"""Inputs copied from a URL (references 001 and 003, POST /inputs): what is refused before a worker begins.

A worker copies; see `jobs.run.ingests`.
"""

import base64
import secrets
from contextlib import suppress
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import msgspec
from django.db import transaction

from accounts.selectors import freezes
from accounts.services import audit
from anex.core import clock, safe_http, tracing
from anex.core.actors import Actor
from anex.core.destinations import RefusedUrl, Unreachable
from anex.core.errors import TooLarge
from billing.selectors import balances
from jobs.models import Ingest, Input
from jobs.selectors.contents import IngestRequest
from jobs.services import residency
from jobs.services.doorbell import ring
from jobs.services.inputs import JSONL, MAX_INPUT_BYTES, PARQUET
from jobs.storage import keys, store
from jobs.storage.interface import StoreUnavailable

# A source that has not named its size by then is accepted; the copy judges it.
PREFLIGHT_S = 3.0


def create(
    *,
    organization_id: UUID,
    source_url: str,
    actor: Actor,
    format: str | None = None,
    callback_url: str | None = None,
    data_residency: str | None = None,
) -> tuple[Input, str | None]:
    """An input in `pending`, and the secret its callback will be signed with, where there is one; rings the workers.

    Without a `format`, the end of the URL's path tells it. Raises Unavailable (uploads are frozen), Forbidden and
    Misdirected (residency), PaymentRequired (no balance; before anybody is contacted), RefusedUrl, TooLarge (the source
    announces more than MAX_INPUT_BYTES), StoreUnavailable.
    """
    freezes.require_open("uploads")
    region = residency.choose(organization_id=organization_id, asked=data_residency)
    balances.require_positive(organization_id)
    _check_source(source_url)
    if callback_url is not None:
        _check_callback(callback_url)
    format = format or _format_of(source_url)
    secret = None if callback_url is None else f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"
    source = Input(
        id=(input_id := uuid4()),
        organization_id=organization_id,
        region=region,
        status=Input.State.PENDING,
        format=format,
        key=keys.ingest(organization_id, input_id, format),
        created_by=str(actor),
    )
    _store(source, IngestRequest(source_url, callback_url, secret), actor)
    return source, secret


def _store(source: Input, request: IngestRequest, actor: Actor) -> None:
    """URLs and the secret go to the region's store first; they are taken back if there will be no input."""
    key, objects = keys.ingest_request(source.organization_id, source.pk), store(source.region)
    objects.put(key, msgspec.json.encode(request))
    try:
        with transaction.atomic():
            source.save(force_insert=True)
            Ingest.objects.create(input=source, due_at=clock.now(), traceparent=tracing.traceparent())
            audit.record(
                organization_id=source.organization_id, actor=actor, action="input.create", target=str(source.pk)
            )
            ring()
    except Exception:
        with suppress(StoreUnavailable):
            objects.delete([key])
        raise


def _format_of(url: str) -> str:
    return PARQUET if urlsplit(url).path.lower().endswith(f".{PARQUET}") else JSONL


def _check_source(url: str) -> None:
    try:
        with safe_http.stream_get(
            url, total_timeout_s=PREFLIGHT_S, idle_timeout_s=PREFLIGHT_S, max_bytes=MAX_INPUT_BYTES
        ):
            pass
    except RefusedUrl as error:
        raise RefusedUrl(f"source_url is refused. {error.message}", param="source_url") from None
    except TooLarge:
        raise TooLarge(
            f"The source announces more than the {MAX_INPUT_BYTES:,} bytes that an input may have.", param="source_url"
        ) from None
    except Unreachable:
        pass


def _check_callback(url: str) -> None:
    try:
        safe_http.check_url(url, timeout_s=PREFLIGHT_S)
    except RefusedUrl as error:
        raise RefusedUrl(f"callback_url is refused. {error.message}", param="callback_url") from None
    except Unreachable:
        pass
