"""What files and batches share on the OpenAI-compatible host."""

from collections.abc import Mapping

from anex.core.errors import InvalidRequest
from billing.api.openai import OpenAIView
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
