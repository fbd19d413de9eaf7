"""The chunks that most of an answer consists of: a piece of text or of thinking, and the usage so far. Pure.

They are read by their known fields, in a quarter of the time a whole object takes.
"""

from typing import Any, Final

import msgspec

_NULL: Final = msgspec.Raw(b"null")


class _Delta(msgspec.Struct, gc=False):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: Any = None
    role: Any = msgspec.UNSET


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta
    finish_reason: str | None = None


class _Chunk(msgspec.Struct, gc=False):
    choices: list[_Choice]
    usage: msgspec.Raw = _NULL
    error: Any = None


class Piece(msgspec.Struct, gc=False):
    """What a chunk adds. `usage` is JSON, None for none; `begins` says that it names the role."""

    content: str
    thought: str
    usage: bytes | None
    begins: bool


_decode: Final = msgspec.json.Decoder(_Chunk).decode


def read_plain(event: bytes) -> Piece | None:
    """The piece in an event's data; None for whatever else it is, be it damaged."""
    try:
        chunk = _decode(event)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if len(chunk.choices) != 1 or chunk.error:
        return None
    choice = chunk.choices[0]
    delta = choice.delta
    if choice.finish_reason or delta.tool_calls:
        return None
    usage = None if chunk.usage is _NULL or (told := bytes(chunk.usage)) == b"null" else told
    return Piece(
        delta.content or "",
        delta.reasoning_content or delta.reasoning or "",
        usage,
        delta.role is not msgspec.UNSET,
    )
