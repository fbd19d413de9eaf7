"""The lines of a batch's two files, OpenAI's (docs/decisions/batches.md); pure but for the JSON.

A line is told from a native result line, whose answer is passed on byte for byte.
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec
import orjson

from jobs.batch_status import EXPIRED

# Why a request was never run, by what stopped the rows of its job.
_NOT_RUN: Final = {
    "cancelled": ("batch_cancelled", "The batch was cancelled before this request was run."),
    EXPIRED: ("batch_expired", "The 24 hours of the batch were over before this request was run."),
    "internal_error": ("batch_failed", "The batch failed before this request was run."),
}


_UNMET_STATUS: Final = 422


class _Response(msgspec.Struct):
    status_code: int
    body: msgspec.Raw


class _ResultLine(msgspec.Struct):
    custom_id: msgspec.Raw
    response: _Response | None
    error: str | None
    error_type: str | None


_decode: Final = msgspec.json.Decoder(_ResultLine).decode


@dataclass(frozen=True, slots=True)
class BatchLine:
    """A line with its end, and which of the two files it belongs to."""

    text: bytes
    failed: bool


def finished(job_id: UUID, row: int, line: bytes) -> BatchLine:
    """The line of a request that was run; `row` is its place in the file, `line` its native result line.

    One that failed has an error: the model refused it, no attempt succeeded, or its answer breaks its format. That has
    the status it has when it is answered at once (reference 004), and the answer is delivered beside the error.
    """
    native = _decode(line)
    request_id, response = f"{job_id.hex}{row:06x}".encode(), b"null"
    if native.response is not None:
        response = b'{"status_code":%d,"request_id":"%b","body":%b}' % (
            _UNMET_STATUS if native.error_type == "response_format_unmet" else native.response.status_code,
            request_id,
            bytes(native.response.body),
        )
    error = None if native.error is None else (native.error_type or "internal_error", native.error)
    return BatchLine(_line(request_id, bytes(native.custom_id), response, error), error is not None)


def not_run(job_id: UUID, row: int, custom_id: str, *, stop_reason: str) -> BatchLine:
    """The line of a request that was never run, in the error file."""
    request_id = f"{job_id.hex}{row:06x}".encode()
    return BatchLine(_line(request_id, orjson.dumps(custom_id), b"null", _NOT_RUN[stop_reason]), failed=True)


def _line(request_id: bytes, custom_id: bytes, response: bytes, error: tuple[str, str] | None) -> bytes:
    told = orjson.dumps({"code": error[0], "message": error[1]}) if error else b"null"
    return b'{"id":"batch_req_%b","custom_id":%b,"response":%b,"error":%b}\n' % (request_id, custom_id, response, told)
