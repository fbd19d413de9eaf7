"""How an answer is drawn: each setting's range, and the settings as a model server is sent them (reference 000)."""

from collections.abc import Iterable
from typing import Any, Final

from inference.catalogue.schema import Model
from inference.refusals import RowError, row_error

MAX_TEMPERATURE: Final = 2
MAX_STOPS: Final = 4
_RANGES: Final[dict[str, tuple[int, int]]] = {
    "temperature": (0, MAX_TEMPERATURE),
    "top_p": (0, 1),
    "frequency_penalty": (-2, 2),
    "presence_penalty": (-2, 2),
    "min_p": (0, 1),
}
# What a model server reads whole numbers as.
_SEEDS: Final = range(-(2**63), 2**63)
_TOP_K: Final = range(2**31)
_MOST_REPETITION: Final = 2
# vLLM refuses 0, which stands for the likeliest token alone; so does this.
_LEAST_TOP_P: Final = 1e-6
_CAPS: Final = ("max_tokens", "max_completion_tokens")


def read_sampling(body: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Those of the settings `names` that a body has, as they are sent on; null counts as left out. Or a `RowError`."""
    return {name: _READERS[name](body[name], f"body.{name}") for name in names if body.get(name) is not None}


def read_number(value: object, name: str) -> float:
    """A setting that is a number within its range, or a `RowError`."""
    low, high = _RANGES[name]
    if type(value) not in (int, float) or not low <= value <= high:  # type: ignore[operator]
        raise row_error("out_of_range", f"body.{name}", low=low, high=high)
    return value  # type: ignore[return-value]


def read_cap(body: dict[str, Any], model: Model, *, lowers: bool = False) -> int | None:
    """The output cap in tokens, None where there is none; of its two names both may be used, if they agree.

    With `lowers` a cap above the model's is the model's, and of two the lower counts.
    """
    ceiling = model.max_output_tokens
    assert ceiling is not None
    caps = {name: body[name] for name in _CAPS if body.get(name) is not None}
    if lowers:
        for name, cap in caps.items():
            if type(cap) is not int or cap < 1:
                raise row_error("not_a_cap", f"body.{name}")
        return min(*caps.values(), ceiling) if caps else None
    for name, cap in caps.items():
        if type(cap) is not int or not 1 <= cap <= ceiling:
            raise row_error("out_of_range_integer", f"body.{name}", low=1, high=ceiling)
    if len(set(caps.values())) > 1:
        raise row_error("two_caps", "body.max_completion_tokens")
    return next(iter(caps.values()), None)


def _number(value: object, at: str) -> float:
    return read_number(value, at.removeprefix("body."))


def _top_p(value: object, at: str) -> float:
    return max(_number(value, at), _LEAST_TOP_P)


def _seed(value: object, at: str) -> int:
    if type(value) is not int or value not in _SEEDS:
        raise row_error("wrong_type", at, expected="an integer of 64 bits")
    return value


def _top_k(value: object, at: str) -> int:
    if type(value) is not int or value not in _TOP_K:
        raise row_error("out_of_range_integer", at, low=0, high=_TOP_K[-1])
    return value


def _repetition(value: object, at: str) -> float:
    if type(value) not in (int, float) or not 0 < value <= _MOST_REPETITION:  # type: ignore[operator]
        raise row_error("out_of_open_range", at, low=0, high=_MOST_REPETITION)
    return value  # type: ignore[return-value]


def _stop(value: object, at: str) -> list[str]:
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or len(stops) > MAX_STOPS or not all(type(each) is str and each for each in stops):
        raise _bad_stop(at)
    return stops


def _bad_stop(at: str) -> RowError:
    return row_error("wrong_type", at, expected=f"a non-empty string or an array of up to {MAX_STOPS} of them")


_READERS: Final = {
    **dict.fromkeys(_RANGES, _number),
    "top_p": _top_p,
    "seed": _seed,
    "stop": _stop,
    "top_k": _top_k,
    "repetition_penalty": _repetition,
}
SAMPLING: Final = tuple(_READERS)
