"""The child process that reads the headers of clips and pictures (see `probe`), and decodes a picture where asked to.

On standard input: a question (name of a format, size in bytes, whether to walk all of it). On standard output: requests
for ranges, each answered with its bytes on standard input, and last the answer as JSON. The child can open no file and
no connection, and ends where a question takes too much processor time, time or memory.
"""

import io
import resource
import signal
import struct
import sys
import time
import warnings
from typing import IO, Any, cast

import orjson
from PIL import Image
from pymediainfo import MediaInfo

QUESTION = struct.Struct(">8s?Q")
# Offset and size of a range that is wanted; a size of 0 announces an answer of `offset` bytes.
REQUEST = struct.Struct(">QI")
IMAGES = ("png", "jpeg", "webp", "gif", "bmp", "tiff")
# Headers take a hundredth of a second, a walk as much for each megabyte.
PROCESSOR_S = 0.5
WALKED_BYTES_PER_S = 20_000_000
# The slowest of the formats takes half of that.
_DECODED_PIXELS_PER_S = 10_000_000
# What Pillow, which model servers decode with, reads without a warning.
MAX_PIXELS = 89_478_485
_PATIENCE_S = 60
_MEMORY_BYTES = 2 << 30
_PIECE = 1 << 20


class _Ranges(io.RawIOBase):
    """What the parent holds, as a file."""

    def __init__(self, size: int) -> None:
        self._size, self._place = size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = max(0, base + offset)
        return self._place

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._size - self._place)
        wanted = left if size < 0 else min(size, left)
        pieces = []
        while wanted:
            pieces.append(_request(self._place, min(wanted, _PIECE)))
            self._place += len(pieces[-1])
            wanted -= len(pieces[-1])
        return b"".join(pieces)


def main() -> None:
    """Answer questions until the input ends."""
    _confine()
    while head := sys.stdin.buffer.read(QUESTION.size):
        name, walk, size = QUESTION.unpack(head)
        format = name.rstrip(b"\0").decode()
        signal.setitimer(signal.ITIMER_PROF, PROCESSOR_S + (size / WALKED_BYTES_PER_S if walk else 0))
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE_S)
        begun = time.process_time()
        facts = _picture(_Ranges(size), format, walk) if format in IMAGES else _clip(_Ranges(size), walk)
        facts["processor_s"] = time.process_time() - begun
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        answer = orjson.dumps(facts)
        sys.stdout.buffer.write(REQUEST.pack(len(answer), 0) + answer)
        sys.stdout.buffer.flush()


def _confine() -> None:
    """Load whatever is loaded late, then give up files, connections, core dumps and most memory."""
    Image.init()
    Image.MAX_IMAGE_PIXELS = None
    warnings.simplefilter("ignore")
    MediaInfo.parse(io.BytesIO(b"RIFF"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))


def _request(offset: int, size: int) -> bytes:
    sys.stdout.buffer.write(REQUEST.pack(offset, size))
    sys.stdout.buffer.flush()
    data = sys.stdin.buffer.read(size)
    if len(data) < size:
        sys.exit(1)
    return data


def _picture(source: _Ranges, format: str, walk: bool) -> dict[str, Any]:
    """The size in pixels; to walk a picture is to decode it, or its first frame."""
    facts: dict[str, Any] = {}
    try:
        with Image.open(cast(IO[bytes], source), formats=[format]) as picture:
            facts |= {"width": picture.width, "height": picture.height}
            pixels = picture.width * picture.height
            if walk and pixels <= MAX_PIXELS:
                signal.setitimer(signal.ITIMER_PROF, PROCESSOR_S + pixels / _DECODED_PIXELS_PER_S)
                picture.load()
                facts["decoded"] = True
    except Exception:
        return facts
    return facts


def _clip(source: _Ranges, walk: bool) -> dict[str, Any]:
    """Facts as MediaInfo words them. Streams without a header are walked frame by frame at its full "speed"."""
    try:
        tracks = MediaInfo.parse(source, parse_speed=1 if walk else 0).tracks
    except Exception:
        return {}
    return {track.track_type: _facts(track) for track in reversed(tracks)}


def _facts(track: Any) -> dict[str, str | None]:
    names = ("duration", "frame_count", "frame_rate", "framerate_num", "framerate_den")
    return {name: None if (fact := getattr(track, name)) is None else str(fact) for name in names}


if __name__ == "__main__":
    main()
