"""What a chat row of an OpenAI batch keeps for itself: output cap, sampling, reasoning (000, batch input file)."""

from typing import Any, Final

from msgspec import Struct

from inference.catalogue.schema import Model
from inference.refusals import row_error
from inference.requests.profiles import RowProfile

EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh")
MAX_STOPS: Final = 4
_CAPS: Final = ("max_tokens", "max_completion_tokens")
# What a model server reads a seed as.
_SEEDS: Final = range(-(2**63), 2**63)


class OwnSettings(Struct, frozen=True, kw_only=True):
    """`max_tokens` caps the answer, `thinking_tokens` the thinking within it; None leaves that to the model.

    `names_cap` is false where the row left its cap to the default, which gives way to a long prompt. `sampling` holds
    top_p, seed and stop as they are sent on. `excludes_reasoning` leaves the thinking out of the result.
    """

    max_tokens: int
    names_cap: bool
    sampling: dict[str, Any]
    thinks: bool | None = None
    effort: str | None = None
    thinking_tokens: int | None = None
    excludes_reasoning: bool = False


def read_settings(body: dict[str, Any], *, model: Model, profile: RowProfile) -> OwnSettings:
    """A row's own settings, or a `RowError` that names the field as it was written."""
    own_cap, sampling = _cap(body, model), _sampling(body)
    ceiling = model.max_output_tokens or 0
    cap = own_cap or min(profile.default_cap or ceiling, ceiling)
    reasoning = body.get("reasoning")
    if reasoning is None:
        return OwnSettings(max_tokens=cap, names_cap=own_cap is not None, sampling=sampling)
    if not isinstance(reasoning, dict):
        raise row_error("wrong_type", "body.reasoning", expected="an object")
    enabled, excludes = (_flag(reasoning, name) for name in ("enabled", "exclude"))
    effort, most = _effort(reasoning.get("effort")), _thinking_tokens(reasoning.get("max_tokens"), model)
    thinks = _thinks(enabled, effort, most)
    if thinks and model.reasoning == "none":
        raise row_error("reasoning_not_supported", "body.reasoning", model=model.id)
    # The surface may take no cap for a model whose jobs take one (reference 000, reasoning).
    takes_cap = model.realtime.takes_budget if model.realtime else model.takes_budget
    return OwnSettings(
        max_tokens=cap,
        names_cap=own_cap is not None,
        sampling=sampling,
        thinks=thinks,
        effort=effort if thinks and effort in model.effort_levels else None,
        thinking_tokens=most if thinks and takes_cap else None,
        excludes_reasoning=bool(excludes),
    )


def _cap(body: dict[str, Any], model: Model) -> int | None:
    """The output cap a row names, in tokens; of its two names both may be used, if they agree."""
    ceiling = model.max_output_tokens
    assert ceiling is not None
    caps = {name: body[name] for name in _CAPS if body.get(name) is not None}
    for name, cap in caps.items():
        if type(cap) is not int or not 1 <= cap <= ceiling:
            raise row_error("out_of_range_integer", f"body.{name}", low=1, high=ceiling)
    if len(set(caps.values())) > 1:
        raise row_error("two_caps", "body.max_completion_tokens")
    return next(iter(caps.values()), None)


def _sampling(body: dict[str, Any]) -> dict[str, Any]:
    sampling: dict[str, Any] = {}
    if (top_p := body.get("top_p")) is not None:
        if type(top_p) not in (int, float) or not 0 <= top_p <= 1:
            raise row_error("out_of_range", "body.top_p", low=0, high=1)
        sampling["top_p"] = top_p
    if (seed := body.get("seed")) is not None:
        if type(seed) is not int or seed not in _SEEDS:
            raise row_error("wrong_type", "body.seed", expected="an integer of 64 bits")
        sampling["seed"] = seed
    if (stop := body.get("stop")) is not None:
        stops = [stop] if isinstance(stop, str) else stop
        if not isinstance(stops, list) or len(stops) > MAX_STOPS or not all(type(each) is str for each in stops):
            raise row_error("wrong_type", "body.stop", expected=f"a string or an array of up to {MAX_STOPS} strings")
        sampling["stop"] = stops
    return sampling


def _flag(reasoning: dict[str, Any], name: str) -> bool | None:
    value = reasoning.get(name)
    if value is not None and not isinstance(value, bool):
        raise row_error("wrong_type", f"body.reasoning.{name}", expected="true or false")
    return value


def _effort(value: object) -> str | None:
    if value is not None and value not in EFFORTS:
        raise row_error("unknown_effort", "body.reasoning.effort", levels=", ".join(EFFORTS))
    return value if isinstance(value, str) else None


def _thinking_tokens(value: object, model: Model) -> int | None:
    high = model.max_output_tokens
    if value is not None and (type(value) is not int or not 1 <= value <= (high or 0)):
        raise row_error("out_of_range_integer", "body.reasoning.max_tokens", low=1, high=high)
    return value if isinstance(value, int) else None


def _thinks(enabled: bool | None, effort: str | None, most: int | None) -> bool | None:
    """Off by either of its words; on by any other setting but `exclude`."""
    if enabled is False or effort == "none":
        return False
    return True if enabled or effort or most else None
