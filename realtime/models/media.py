"""What a model takes of each modality, in the words of OpenRouter's provider document. Pure."""

from fractions import Fraction
from typing import Any, Final

from billing.pricing import PriceCard
from inference.catalogue.schema import Modality, Model
from inference.media.rates import context_tokens, longest_video_ms
from realtime.models.prices import input_prices

# The formats its schema has a value for; more are taken (reference 000, accepted formats).
_FORMATS: Final[dict[str, tuple[str, ...]]] = {
    "image": ("image/png", "image/jpeg", "image/webp", "image/gif"),
    "audio": ("audio/wav", "audio/mpeg"),
    "video": ("video/mp4", "video/webm"),
}
_MEBIBYTE: Final = 1024 * 1024
# An item in the body: 32 MiB less its other fields, as base64.
_MOST_INLINE_MIB: Final = 24


def input_modality(model: Model, kind: Modality, card: PriceCard) -> dict[str, Any]:
    """One entry of `input_modalities`."""
    supported: dict[str, Any] = {}
    if kind == "text":
        supported["max_context_length"] = {"value": context_tokens(model, ()), "unit": "token"}
    else:
        supported["sources"] = {"type": "enum", "values": ["url", "base64"]}
        supported["formats"] = {"type": "enum", "values": list(_FORMATS[kind])}
        if seconds := _longest_seconds(model, kind):
            supported["max_duration_seconds"] = seconds
        if mebibytes := model.realtime and model.realtime.max_url_mib.get(kind):
            # The largest item that every route accepts.
            supported["max_content_size_bytes"] = min(mebibytes, _MOST_INLINE_MIB) * _MEBIBYTE
    entry: dict[str, Any] = {"type": kind, "supported_inputs": supported}
    prices = input_prices(card, kind)
    return entry | {"pricing": prices} if prices else entry


def _longest_seconds(model: Model, kind: Modality) -> int | None:
    media = model.media
    if media is None or kind == "image":
        return None
    if kind == "audio":
        return media.audio.max_seconds if media.audio else None
    video = media.video
    if video is None or video.tokens_per_frame is None:
        return video.max_seconds if video else None
    return longest_video_ms(model, _rate(video.default_fps)) // 1000


def _rate(fps: float) -> Fraction:
    return Fraction(str(fps))
