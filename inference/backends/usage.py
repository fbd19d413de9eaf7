"""Which token counts of a model server are believed. Pure."""

from collections.abc import Mapping
from typing import Any

from anex.core.usage import Usage

# Far above what any model reads or writes in one answer; callers that know the request pass tighter bounds.
MOST_TOKENS = 100_000_000


def read_usage(
    body: Mapping[str, Any], *, input_bound: int = MOST_TOKENS, output_bound: int = MOST_TOKENS
) -> tuple[Usage | None, bool]:
    """The tokens an answer reports, and whether the report had to be changed (to be logged).

    A count above its bound becomes the bound. `{0, 0}` is a report like any other and stays zero. A report that is
    missing or null is None: the caller then counts the input and the delivered text itself. A count that is negative,
    NaN, infinite, fractional or no number makes the whole report None and changed. Only where nothing
    is generated (a body without choices) is a missing output count zero. Cached tokens are a part of the input; an
    unusable number of them is zero.
    """
    report = body.get("usage")
    if report is None:
        return None, False
    if not isinstance(report, dict):
        return None, True
    read = _count(report.get("prompt_tokens", report.get("input_tokens")))
    written = _count(report.get("completion_tokens", report.get("output_tokens", None if "choices" in body else 0)))
    if read is None or written is None:
        return None, bool(report)
    told = _cached(report)
    cached = _count(told)
    usage = Usage(
        input_tokens=min(read, input_bound),
        cached_tokens=min(cached or 0, read, input_bound),
        output_tokens=min(written, output_bound),
    )
    return usage, (usage.input_tokens, usage.cached_tokens, usage.output_tokens) != (read, told, written)


def read_reasoning(body: Mapping[str, Any]) -> int | None:
    """The tokens of an answer that were thinking, where its report tells them."""
    report = body.get("usage")
    details = report.get("completion_tokens_details") if isinstance(report, dict) else None
    return _count(details.get("reasoning_tokens")) if isinstance(details, dict) else None


def _count(value: Any) -> int | None:
    """A whole number of at least zero, written as an integer or as a float without fraction; else None."""
    if type(value) is int:
        return value if value >= 0 else None
    return int(value) if type(value) is float and value.is_integer() and value >= 0 else None


def _cached(report: Mapping[str, Any]) -> Any:
    details = report.get("prompt_tokens_details", report.get("input_tokens_details"))
    told = details.get("cached_tokens") if isinstance(details, dict) else details
    return 0 if told is None else told
