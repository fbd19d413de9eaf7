"""Content parts of a message or of an embedding's input: text stays in its place, media stands beside it.

What a row keeps in the place of a picture or clip is a part with its type alone, so that nothing that reads the text of
a row ever meets base64.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from inference.catalogue.schema import Model
from inference.media.parts import ROW_PARTS, MediaPart, PartRules, TextPart, read_part, upstream_part
from inference.media.rates import countable
from inference.refusals import row_error

Parts = list[dict[str, Any]]


def read_parts(
    parts: list[Any], at: str, model: Model, media: list[MediaPart], *, rules: PartRules = ROW_PARTS
) -> Parts:
    """The parts of the list at path `at`; media is appended to `media` in the order of its places. Or a `RowError`."""
    if not parts:
        raise row_error("empty", at)
    return [_read(part, f"{at}[{index}]", model, media, rules) for index, part in enumerate(parts)]


def text_parts(parts: Parts) -> Parts:
    """The parts without the places of media."""
    return [part for part in parts if part["type"] == "text"]


def upstream_parts(parts: Parts, media: Iterator[MediaPart]) -> Parts:
    """The parts as a model server is sent them, the next of `media` in each of its places."""
    return [part if part["type"] == "text" else upstream_part(next(media)) for part in parts]


def text_messages(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages of a chat without its media; a content that was nothing else is empty text."""
    return [
        message | {"content": text_parts(message["content"]) or ""} if isinstance(message["content"], list) else message
        for message in messages
    ]


def upstream_messages(messages: Sequence[dict[str, Any]], media: Sequence[MediaPart]) -> list[dict[str, Any]]:
    """The messages of a chat with its media in their places."""
    left = iter(media)
    return [
        message | {"content": upstream_parts(message["content"], left)}
        if isinstance(message["content"], list)
        else message
        for message in messages
    ]


def frame_rate(media: Sequence[MediaPart], model: Model, *, fps: float | None = None) -> dict[str, Any]:
    """How vLLM is told the sampling rate of clips, the model's own too, on models that take one.

    Its loader hands on every frame, and the model's processor samples them; else the loader would take 32 of them
    whatever the clip.
    """
    video = model.media.video if model.media else None
    if video is None or video.max_fps is None or all(part.modality != "video" for part in media):
        return {}
    return {
        "media_io_kwargs": {"video": {"num_frames": -1}},
        "mm_processor_kwargs": {"fps": fps or video.default_fps, "do_sample_frames": True},
    }


def _read(part: object, at: str, model: Model, media: list[MediaPart], rules: PartRules) -> dict[str, Any]:
    found = read_part(part, at=at, model=model, rules=rules)
    if isinstance(found, TextPart):
        return {"type": "text", "text": found.text}
    if found.modality in rules.counted and not countable(model, found.modality):
        raise row_error("media_not_served", f"{at}.type", model=model.id, modality=found.modality)
    media.append(found)
    return {"type": found.type}
