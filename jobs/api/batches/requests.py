"""From a request to what the services of batches take; a refusal is a 400 that names the field (reference 000)."""

from collections.abc import Mapping
from typing import Any, Final

from anex.core.errors import InvalidRequest
from inference.refusals import expected
from inference.requests import bodies
from inference.requests.profiles import V1
from jobs.api.openai import read_body, read_limit
from jobs.services.batches import ENDPOINTS, Asked
from jobs.urgency import WINDOWS

_MOST_BATCHES: Final = 100
_DEFAULT_BATCHES: Final = 20
_FIELDS: Final = ("input_file_id", "endpoint", "completion_window", "metadata")
_MOST_PAIRS, _MOST_KEY, _MOST_VALUE = 16, 64, 512


def read_create(content_type: str, raw: bytes) -> Asked:
    """What a body asks for; a null field counts as left out. WrongMediaType for one that says it is not JSON."""
    body = read_body(content_type, raw, _FIELDS)
    file_id, endpoint, window = (_text(body, name) for name in _FIELDS[:3])
    if endpoint not in ENDPOINTS:
        raise InvalidRequest(f"endpoint must be one of {', '.join(ENDPOINTS)}.", param="endpoint")
    if window not in WINDOWS:
        raise InvalidRequest(f"completion_window must be one of {', '.join(WINDOWS)}.", param="completion_window")
    return Asked(file_id, endpoint, _metadata(body.get("metadata")), window)


def read_page(query: Mapping[str, str]) -> dict[str, Any]:
    """The keyword arguments of `batches.page` that a query gives; unknown parameters are ignored."""
    limit = read_limit(query, most=_MOST_BATCHES, default=_DEFAULT_BATCHES)
    return {"limit": limit, "after": query.get("after")}


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise bodies.refused(expected("a string", value, name), V1)
    return value


def _metadata(value: object) -> dict[str, str] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise bodies.refused(expected("an object", value, "metadata"), V1)
    if len(value) > _MOST_PAIRS:
        raise InvalidRequest(f"metadata takes at most {_MOST_PAIRS} pairs.", param="metadata")
    for key, text in value.items():
        if len(key) > _MOST_KEY:
            raise InvalidRequest(f"A key of metadata has at most {_MOST_KEY} characters.", param="metadata")
        param = f"metadata.{key}"
        if not isinstance(text, str):
            raise InvalidRequest(f"{param} must be a string.", param=param)
        if len(text) > _MOST_VALUE:
            raise InvalidRequest(f"{param} has more than {_MOST_VALUE} characters.", param=param)
    return value
