"""The thinking settings of a chat row: its own, over the job's defaults."""

from typing import Any

from inference.catalogue.schema import Model
from inference.refusals import row_error
from inference.requests.options import ANSWER_TOKENS, RowOptions
from inference.requests.reasoning import Reasoning

_AT = "body.chat_template_kwargs"


def check_thinking(value: object, *, model: Model, options: RowOptions, own: Reasoning | None = None) -> dict[str, Any]:
    """What the chat template is given: `enable_thinking` and `reasoning_effort`, the row's over the job's.

    A row that has its own `reasoning` (`own`) keeps it where its chat_template_kwargs say nothing. Other keys are not
    carried through. Raises `RowError` for a setting the model lacks or the job contradicts.
    """
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise row_error("wrong_type", _AT, expected="an object")
    asked = value.get("enable_thinking")
    if asked is not None and not isinstance(asked, bool):
        raise row_error("wrong_type", f"{_AT}.enable_thinking", expected="true or false")
    if asked and model.reasoning == "none":
        raise row_error("reasoning_not_supported", f"{_AT}.enable_thinking", model=model.id)
    if asked is False and options.reasoning_budget:
        raise row_error("budget_without_reasoning", f"{_AT}.enable_thinking", budget=options.reasoning_budget)
    default, level = (own.thinks, own.effort) if own else (options.reasoning, options.reasoning_effort)
    thinks = default if asked is None else asked
    effort = _effort(value.get("reasoning_effort"), model, thinks) or level
    if model.reasoning == "none":
        return {}
    settings: dict[str, Any] = {}
    if thinks is not None:
        settings["enable_thinking"] = thinks
    if effort is not None and thinks is not False:
        settings["reasoning_effort"] = effort
    return settings


def may_think(settings: dict[str, Any], model: Model) -> bool:
    """Whether a chat is to think, or may: by its template's settings, else by the model's default where it is known."""
    on = settings.get("enable_thinking", True if "reasoning_effort" in settings else model.reasoning_default)
    return model.reasoning != "none" and on is not False


def fit_budget(budget: int | None, max_tokens: int | None) -> int | None:
    """A cap on thinking, lowered so that the answer keeps its room; None for none. All are tokens."""
    if not budget:
        return None
    return budget if max_tokens is None else max(1, min(budget, max_tokens - ANSWER_TOKENS))


def leaves_budget_open(model: Model, *, reasoning: bool | None, budget: int | None) -> bool:
    """Whether thinking is to get an estimated budget: it is neither set nor turned off (001, reasoning_budget)."""
    return model.takes_budget and budget is None and reasoning is not False


def _effort(value: object, model: Model, thinks: bool | None) -> str | None:
    param = f"{_AT}.reasoning_effort"
    if value is None:
        return None
    if not isinstance(value, str):
        raise row_error("wrong_type", param, expected="a string")
    if not model.effort_levels:
        raise row_error("effort_not_supported", param, model=model.id)
    if value not in model.effort_levels:
        raise row_error("invalid_effort", param, levels=", ".join(model.effort_levels), model=model.id)
    if thinks is False:
        raise row_error("effort_without_reasoning", param)
    return value
