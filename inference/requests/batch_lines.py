"""Lines of an OpenAI batch file while it is uploaded: JSON, the envelope, and one url and model in the whole file.

What a request asks of its model is read when the batch runs (reference 000, batch input file).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import orjson

from inference.refusals import expected, row_error, shortened
from inference.requests.envelope import URLS, decode_line, is_shallow, open_line

EVERY_URL: Final = tuple(url for urls in URLS.values() for url in urls)

# Of a model; a longer name is nobody's.
_LONGEST_ID: Final = 64

Reader = Callable[[bytes], str]


@dataclass(frozen=True, slots=True)
class Target:
    """What every line of a file names, as its first line has it."""

    url: str
    model: str


def target_of(line: bytes) -> Target:
    """The target of a file that begins with this line, or a `RowError`."""
    url = _url_of(line)
    _, _, body = open_line(line, urls=(url,))
    model = body.get("model")
    if type(model) is not str:
        raise expected("a string", model, "body.model")
    if not model:
        raise row_error("empty", "body.model")
    if len(model) > _LONGEST_ID:
        raise row_error("unknown_model", "body.model", model=shortened(model))
    return Target(url, model)


def reader(target: Target) -> Reader:
    """What reads the custom_id of a line with the target, or raises a `RowError`.

    The common shape is judged at once; whatever is not of it is left to `_exact`, which alone refuses.
    """
    url, model = target.url, target.model

    def read(line: bytes) -> str:
        try:
            request = orjson.loads(line)
            custom_id = request["custom_id"]
            if (
                request["url"] == url
                and request["body"]["model"] == model
                and request["method"] == "POST"
                and type(custom_id) is str
                and custom_id
                and is_shallow(line, request)
            ):
                return custom_id
        except (orjson.JSONDecodeError, KeyError, TypeError):
            pass
        return _exact(line, target)

    return read


def _exact(line: bytes, target: Target) -> str:
    if (found := _url_of(line)) != target.url:
        raise row_error("other_url", "url", found=found, url=target.url)
    _, custom_id, body = open_line(line, urls=(target.url,))
    model = body.get("model")
    if type(model) is not str:
        raise expected("a string", model, "body.model")
    if model != target.model:
        raise row_error("model_differs", "body.model", found=shortened(model), model=shortened(target.model))
    return custom_id


def _url_of(line: bytes) -> str:
    url = decode_line(line).get("url")
    if url is None:
        raise row_error("missing", "url")
    if url not in EVERY_URL:
        raise row_error("unknown_url", "url", urls=", ".join(EVERY_URL))
    return str(url)
