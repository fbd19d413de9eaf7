"""The callback of a copied input (references 001, Webhooks, and 003, InputCallback): signed, sent once, best effort."""

import logging

import orjson
from standardwebhooks import Webhook

from anex.core import clock, safe_http
from anex.core.errors import AnexError
from jobs.models import Input
from jobs.selectors import contents, inputs

log = logging.getLogger(__name__)

TIMEOUT_S = 15.0
MAX_REPLY_BYTES = 1024


def send(source: Input, *, url: str, secret: str) -> None:
    """Tell `url` that the input is ready or failed. Nobody is told again, whatever it answers.

    The id is the input's own: after a crash between the sending and its record it is sent once more, recognizably.
    """
    sent_at, message_id = clock.now(), f"msg_{source.pk.hex}"
    envelope = {
        "type": f"input.{source.status}",
        "timestamp": int(sent_at.timestamp()),
        "id": message_id,
        "data": _data(source),
    }
    body = orjson.dumps(envelope)
    headers = {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(envelope["timestamp"]),
        "webhook-signature": Webhook(secret).sign(message_id, sent_at, body.decode()),
    }
    try:
        reply = safe_http.post(
            url, body=body, headers=headers, total_timeout_s=TIMEOUT_S, max_response_bytes=MAX_REPLY_BYTES
        )
        log.info("callback of input %s was answered %d", source.pk, reply.status)
    except AnexError as error:
        log.info("callback of input %s was not answered (%s)", source.pk, type(error).__name__)


def _data(source: Input) -> dict[str, str | None]:
    data: dict[str, str | None] = {"id": str(source.pk), "status": source.status}
    if source.status == Input.State.READY:
        return data | {"input_s3_uri": inputs.uri(source)}
    return data | {"error": contents.ingest_failure(source)}
