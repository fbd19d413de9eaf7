"""How a request asks a model to think: `reasoning`, and OpenAI's `reasoning_effort` (reference 000, reasoning)."""

from typing import Any, Final

from msgspec import Struct

from inference.catalogue.schema import Model
from inference.refusals import row_error
from inference.requests.profiles import EFFORTS

# How deep a model is to think by each word, the lightest first (reference 004, reasoning_effort).
_DEPTHS: Final = {"minimal": 1, "low": 2, "light": 2, "medium": 3, "balanced": 3, "high": 4, "xhigh": 5}
_DEEPEST: Final = 6


class Reasoning(Struct, frozen=True, kw_only=True):
    """`tokens` caps the thinking, `excluded` leaves it out of the answer; None leaves a setting to the model."""

    thinks: bool | None = None
    effort: str | None = None
    tokens: int | None = None
    excluded: bool = False


UNSAID: Final = Reasoning()


def read_reasoning(
    value: object,
    *,
    model: Model,
    top_level: object = None,
    efforts: tuple[str, ...] = EFFORTS,
    nearest: bool = False,
) -> Reasoning:
    """What `reasoning` asks, or a `RowError` that names the field as it was written.

    `top_level` is `reasoning_effort` beside it, which counts where `reasoning` itself says neither on nor off. With
    `nearest` a word that the model lacks is its nearest level, and says nothing to a model that does not think.
    """
    if value is None and top_level is None:
        return UNSAID
    if value is not None and not isinstance(value, dict):
        raise row_error("wrong_type", "body.reasoning", expected="an object")
    asked: dict[str, Any] = value or {}
    enabled, excludes = _flag(asked, "enabled"), _flag(asked, "exclude")
    effort = _effort(asked.get("effort"), "body.reasoning.effort", efforts)
    beside = _effort(top_level, "body.reasoning_effort", efforts)
    most = _tokens(asked.get("max_tokens"), model)
    thinks = _thinks(enabled, effort, most)
    if thinks is None and beside is not None:
        thinks, effort = beside != "none", beside
    if thinks and model.reasoning == "none":
        if nearest:
            return UNSAID
        at = "body.reasoning_effort" if value is None else "body.reasoning"
        raise row_error("reasoning_not_supported", at, model=model.id)
    # The surface may take no cap for a model whose jobs take one (reference 000, reasoning).
    takes_cap = model.realtime.takes_budget if model.realtime else model.takes_budget
    if nearest and effort:
        effort = _nearest(effort, model)
    return Reasoning(
        thinks=thinks,
        effort=effort if thinks and effort in model.effort_levels else None,
        tokens=most if thinks and takes_cap else None,
        excluded=bool(excludes),
    )


def _flag(reasoning: dict[str, Any], name: str) -> bool | None:
    value = reasoning.get(name)
    if value is not None and not isinstance(value, bool):
        raise row_error("wrong_type", f"body.reasoning.{name}", expected="true or false")
    return value


def _effort(value: object, at: str, efforts: tuple[str, ...]) -> str | None:
    if value is not None and value not in efforts:
        raise row_error("unknown_effort", at, levels=", ".join(efforts))
    return value if isinstance(value, str) else None


def _nearest(effort: str, model: Model) -> str | None:
    """The model's level that is as deep as the word, or as near to it as there is; None of a model without levels."""
    depth = _DEPTHS.get(effort, _DEEPEST)
    levels = sorted(model.effort_levels, key=lambda level: _DEPTHS.get(level, _DEEPEST))
    return min(levels, key=lambda level: abs(_DEPTHS.get(level, _DEEPEST) - depth), default=None)


def _tokens(value: object, model: Model) -> int | None:
    high = model.max_output_tokens
    if value is not None and (type(value) is not int or not 1 <= value <= (high or 0)):
        raise row_error("out_of_range_integer", "body.reasoning.max_tokens", low=1, high=high)
    return value if isinstance(value, int) else None


def _thinks(enabled: bool | None, effort: str | None, most: int | None) -> bool | None:
    """Off by either of its words; on by any other setting but `exclude`."""
    if enabled is False or effort == "none":
        return False
    return True if enabled or effort or most else None
