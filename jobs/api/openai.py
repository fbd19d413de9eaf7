"""What files and batches share on the OpenAI-compatible host."""

from collections.abc import Collection, Mapping
from typing import Any

from anex.core.errors import InvalidRequest, WrongMediaType
from billing.api.openai import OpenAIView
from inference.refusals import row_error
from inference.requests import bodies
from inference.requests.profiles import V1, Profile
from jobs.api.endpoint import Endpoint


class OpenAIEndpoint(Endpoint, OpenAIView):
    """The scopes, plans and freezes of the batch API, with errors in OpenAI's shape."""


def read_limit(query: Mapping[str, str], *, most: int, default: int) -> int:
    """How many a page holds; InvalidRequest unless that is 1 to `most`."""
    text = query.get("limit", str(default))
    limit = int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(most)) else 0
    if not 1 <= limit <= most:
        raise InvalidRequest(f"limit must be an integer from 1 to {most:,}.", param="limit")
    return limit


def read_body(content_type: str, raw: bytes, fields: Collection[str], *, profile: Profile = V1) -> dict[str, Any]:
    """The fields of a body, of which none but `fields` may be given; InvalidRequest, WrongMediaType."""
    if content_type.partition(";")[0].strip().lower() not in ("", "application/json"):
        raise WrongMediaType("Send the body as application/json.")
    body = bodies.decode(raw, profile=profile)
    for name, value in body.items():
        if name not in fields and value is not None:
            raise bodies.refused(row_error("unknown_parameter", name[:64]), profile)
    return body
