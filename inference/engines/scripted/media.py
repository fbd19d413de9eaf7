"""What the pictures and clips of a request become: tokens by the catalogue's rates, or a fixed number of each kind.

A model of the catalogue that takes media is served as a real server would: its parts hold their bytes, which are read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from inference import catalogue
from inference.catalogue.schema import Model
from inference.engines.refusals import Refusal
from inference.media import rates
from inference.media.lengths import Measured, measure
from inference.media.parts import MEDIA_PARTS, MediaPart, read_part
from inference.refusals import RowError

MEDIA_TOKENS = {"image_url": 64, "input_audio": 50, "audio_url": 50, "video_url": 200, "file": 100}


def count_media(request: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> int:
    """Tokens of the media parts in the messages of a request; refuses what cannot be read."""
    parts = list(_parts(messages))
    model = catalogue.get(str(request.get("model")))
    if model is None or model.media is None:
        return sum(MEDIA_TOKENS.get(str(part.get("type")), 0) for part in parts)
    fps = (request.get("mm_processor_kwargs") or {}).get("fps")
    try:
        items = [_measured(part, model) for part in parts if part.get("type") in MEDIA_PARTS]
        return rates.count_media(items, model=model, row="", video_fps=fps).input_tokens
    except RowError as error:
        raise Refusal(error.message, param="messages") from error


def _parts(messages: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for message in messages:
        content = message.get("content")
        yield from (part for part in content if isinstance(part, dict)) if isinstance(content, list) else ()


def _measured(part: Mapping[str, Any], model: Model) -> Measured:
    found = read_part(part, at="messages", model=model)
    if not isinstance(found, MediaPart) or found.data is None:
        raise Refusal("Media must be sent as data: URIs; this server goes nowhere.", param="messages")
    return measure(found)
