"""Ids of tool calls: a model's own, spelt so that every client keeps them, and its own when they come back. Pure."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

# What clients and the APIs behind them take for an id as it is.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:-]{9,64}", re.ASCII)
_SPELT: Final = "call_ax_"
_LONGEST_OWN: Final = 160


def outward(own: str) -> str | None:
    """The id as clients get it; None where the model gave none that could come back."""
    if _PLAIN.fullmatch(own) and not own.startswith(_SPELT):
        return own
    raw = own.encode()
    return _SPELT + urlsafe_b64encode(raw).decode().rstrip("=") if 0 < len(raw) <= _LONGEST_OWN else None


def own(call_id: str) -> str:
    """The model's own id; one that was not spelt here is that already."""
    if not call_id.startswith(_SPELT):
        return call_id
    coded = call_id.removeprefix(_SPELT)
    try:
        return urlsafe_b64decode(coded + "=" * (-len(coded) % 4)).decode() or call_id
    except ValueError:
        return call_id
