"""Embeddings: vectors of unit length that follow from the text, and from the media beside it, alone."""

import base64
import hashlib
import math
import struct
from collections.abc import Mapping
from typing import Any

import orjson

from inference.counting.words import count_messages, count_words, text_of
from inference.engines.refusals import Refusal, check_context
from inference.engines.scripted import bodies, chat
from inference.engines.scripted.media import count_media


def prompt_of(request: Mapping[str, Any]) -> str:
    """The first text of a request, or the text beside its media."""
    if "messages" in request:
        return text_of(chat.check(request)[-1].get("content"))
    return inputs_of(request)[0]


def inputs_of(request: Mapping[str, Any]) -> list[str]:
    """What each vector follows from: the texts of a request, one or many, or its one chat."""
    if "messages" in request:
        return [orjson.dumps(chat.check(request)).decode()]
    texts = request.get("input")
    if isinstance(texts, str):
        texts = [texts]
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise Refusal("input must be a text or a non-empty list of texts.", param="input")
    return texts


def vector(text: str, width: int, full_width: int) -> list[float]:
    """The first `width` numbers of the text's vector, scaled to length 1 and rounded to 32-bit floats."""
    raw = hashlib.shake_256(text.encode("utf-8", "backslashreplace")).digest(full_width)[:width]
    centred = [byte - 127.5 for byte in raw]
    length = math.sqrt(sum(value * value for value in centred))
    layout = f"<{width}f"
    return list(struct.unpack(layout, struct.pack(layout, *(value / length for value in centred))))


def whole(request: Mapping[str, Any], *, full_width: int, max_model_len: int, usage_kind: str) -> dict[str, Any]:
    """The body of an answer; refuses a width the model does not have and a text beyond its context."""
    texts = inputs_of(request)
    width = request.get("dimensions") or full_width
    if not isinstance(width, int) or not 1 <= width <= full_width:
        raise Refusal(f"dimensions must be between 1 and {full_width}.", param="dimensions")
    encoding = request.get("encoding_format") or "float"
    if encoding not in ("float", "base64"):
        raise Refusal("encoding_format must be float or base64.", param="encoding_format")
    counts = _counts(request, texts)
    check_context(prompt_tokens=max(counts), output_tokens=0, limit=max_model_len)
    data = []
    for index, text in enumerate(texts):
        numbers: Any = vector(text, width, full_width)
        if encoding == "base64":
            numbers = base64.b64encode(struct.pack(f"<{width}f", *numbers)).decode()
        data.append({"object": "embedding", "index": index, "embedding": numbers})
    model = request.get("model") or "scripted"
    used = bodies.usage(usage_kind, prompt_tokens=sum(counts), completion_tokens=0)
    return {"object": "list", "model": model, "data": data, **used}


def _counts(request: Mapping[str, Any], texts: list[str]) -> list[int]:
    if "messages" not in request:
        return [count_words(text) for text in texts]
    messages = chat.check(request)
    return [count_messages(messages) + count_media(request, messages)]
