"""The picture and the sound that the standard tests would fetch from the internet."""

import io
import struct
import wave
import zlib


def png() -> bytes:
    """A picture of 64 x 64 points in one colour."""
    rows = (b"\0" + b"\x40\x80\xc0" * 64) * 64
    header = struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def wav() -> bytes:
    """A second of silence."""
    written = io.BytesIO()
    with wave.open(written, "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(b"\0\0" * 8000)
    return written.getvalue()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
