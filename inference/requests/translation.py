"""Requests of OpenAI's other text protocols as chat requests, and refusals that name what their sender wrote. Pure."""

from collections.abc import Collection, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar

from anex.core.errors import AnexError
from inference.refusals import row_error

# Fields that a chat has and the other protocols may not.
_OF_CHAT: Final = frozenset(
    {"messages", "max_tokens", "max_completion_tokens", "n", "logprobs", "response_format", "reasoning_effort"}
)

EchoT = TypeVar("EchoT")


class Translated(NamedTuple, Generic[EchoT]):
    """A request as the chat body it stands for.

    `echo` is what the answer says of the request and a chat answer does not. `names` are paths in the chat body
    (`messages[2].content`) by which a refusal may name a field, and what stands there in the request as it was written.
    `ignored` fields are unknown here though a chat has them.
    """

    body: dict[str, Any]
    echo: EchoT
    names: Mapping[str, str]
    ignored: tuple[str, ...] = ()


def shared(
    body: Mapping[str, Any], *, own: Collection[str], refuses_unknown: bool
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The fields that mean the same in a chat; `own` are those with a meaning of their own, left to the caller.

    What only a chat has is unknown here: a `RowError`, or named beside them where nothing unknown is refused.
    """
    kept = {name: value for name, value in body.items() if name not in own and name not in _OF_CHAT}
    strange = tuple(name for name in _OF_CHAT if name not in own and body.get(name) is not None)
    if strange and refuses_unknown:
        raise row_error("unknown_parameter", f"body.{min(strange)}")
    return kept, strange


def named(path: str, names: Mapping[str, str]) -> str:
    """What stands at a path of the chat body, by its path in the request."""
    stem = path
    while stem not in names:
        stem = stem[: max(stem.rfind("."), stem.rfind("["), 0)]
        if not stem:
            return path
    return names[stem] + path.removeprefix(stem)


def rename(error: AnexError, names: Mapping[str, str], *, prefix: str = "") -> None:
    """Let a refusal of the chat body name the field as it was written; `prefix` stands before both paths."""
    param = error.param
    if not names or param is None or not param.startswith(prefix):
        return
    written = prefix + named(param.removeprefix(prefix), names)
    error.message = error.message.replace(param, written)
    error.param = written
