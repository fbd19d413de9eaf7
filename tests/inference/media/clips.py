"""A clip or picture of each format, of a known length or size, made with PyAV and Pillow."""

import io
from base64 import b64encode
from fractions import Fraction
from functools import lru_cache
from typing import Any

import av
import numpy as np
from PIL import Image

RATE = 48_000
# Format to the muxer and the encoder it is made with.
AUDIO = {
    "wav": ("wav", "pcm_s16le"),
    "mp3": ("mp3", "libmp3lame"),
    "m4a": ("ipod", "aac"),
    "aac": ("adts", "aac"),
    "ogg": ("ogg", "flac"),
    "opus": ("ogg", "libopus"),
    "flac": ("flac", "flac"),
    "aiff": ("aiff", "pcm_s16be"),
}
VIDEO = {
    "mp4": ("mp4", "libx264"),
    "webm": ("webm", "libvpx"),
    "mov": ("mov", "mpeg4"),
    "mkv": ("matroska", "mpeg4"),
    "avi": ("avi", "mpeg4"),
}
IMAGES = ("png", "jpeg", "webp", "gif", "bmp", "tiff")
MEDIA_TYPES = {
    **{"wav": "audio/wav", "mp3": "audio/mpeg", "m4a": "audio/mp4", "aac": "audio/aac", "ogg": "audio/ogg"},
    **{"opus": "audio/opus", "flac": "audio/flac", "aiff": "audio/aiff"},
    **{"mp4": "video/mp4", "webm": "video/webm", "mov": "video/quicktime", "mkv": "video/x-matroska"},
    **{"avi": "video/x-msvideo", "png": "image/png", "jpeg": "image/jpeg", "webp": "image/webp"},
    **{"gif": "image/gif", "bmp": "image/bmp", "tiff": "image/tiff"},
}


@lru_cache(maxsize=64)
def audio(format: str, seconds: float = 1.5) -> bytes:
    """A silent clip; frames of the coded formats make it a few milliseconds longer."""
    muxer, codec = AUDIO[format]
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=muxer) as container:
        stream = container.add_stream(codec, rate=RATE, layout="mono")
        for start in range(0, round(seconds * RATE), 960):
            samples = np.zeros((1, min(960, round(seconds * RATE) - start)), dtype=np.int16)
            frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
            frame.sample_rate, frame.pts, frame.time_base = RATE, start, Fraction(1, RATE)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return buffer.getvalue()


@lru_cache(maxsize=64)
def video(format: str, frames: int = 15, fps: int | Fraction = 10) -> bytes:
    """A clip of grey pictures."""
    muxer, codec = VIDEO[format]
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=muxer) as container:
        stream = container.add_stream(codec, rate=fps, width=64, height=48, pix_fmt="yuv420p")
        for index in range(frames):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), index % 255, dtype=np.uint8))
            frame.pts = index
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return buffer.getvalue()


@lru_cache(maxsize=64)
def picture(format: str, width: int = 123, height: int = 45) -> bytes:
    """A black picture."""
    buffer = io.BytesIO()
    Image.new("RGB", (width, height)).save(buffer, format=format)
    return buffer.getvalue()


def make(format: str) -> bytes:
    """A clip of 1.5 seconds or a picture of 123 by 45 pixels."""
    return audio(format) if format in AUDIO else video(format) if format in VIDEO else picture(format)


def modality_of(format: str) -> str:
    return "audio" if format in AUDIO else "video" if format in VIDEO else "image"


def data_uri(format: str, data: bytes) -> str:
    return f"data:{MEDIA_TYPES[format]};base64,{b64encode(data).decode()}"


def by_url(modality: str, url: str, **more: Any) -> dict[str, Any]:
    """A content part that names its picture or clip by an address, or holds it in a data: URI."""
    return {"type": f"{modality}_url", f"{modality}_url": {"url": url, **more}}


def input_audio(format: str, data: bytes, **more: Any) -> dict[str, Any]:
    return {"type": "input_audio", "input_audio": {"data": b64encode(data).decode(), "format": format, **more}}
