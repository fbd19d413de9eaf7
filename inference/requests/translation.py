"""Requests of OpenAI's other text protocols as chat requests, and refusals that name what their sender wrote. Pure."""

from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from anex.core.errors import AnexError

EchoT = TypeVar("EchoT")


class Translated(NamedTuple, Generic[EchoT]):
    """A request as the chat body it stands for.

    `echo` is what the answer says of the request and a chat answer does not. `names` are paths in the chat body
    (`messages[2].content`) by which a refusal may name a field, and what stands there in the request as it was written.
    """

    body: dict[str, Any]
    echo: EchoT
    names: Mapping[str, str]


def rename(error: AnexError, names: Mapping[str, str], *, prefix: str = "") -> None:
    """Let a refusal of the chat body name the field as it was written; `prefix` stands before both paths."""
    param = error.param
    if not names or param is None or not param.startswith(prefix):
        return
    path = param.removeprefix(prefix)
    stem = path
    while stem not in names:
        stem = stem[: max(stem.rfind("."), stem.rfind("["), 0)]
        if not stem:
            return
    written = prefix + names[stem] + path.removeprefix(stem)
    error.message = error.message.replace(param, written)
    error.param = written
