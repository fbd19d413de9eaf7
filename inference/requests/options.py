"""The options of a job that shape its rows, checked against the model (reference 003, createJob, 422)."""

from dataclasses import dataclass
from typing import Any

from anex.core.errors import Unprocessable
from inference.catalogue.schema import Model
from inference.requests.profiles import NATIVE, RowProfile
from inference.requests.response_format import constrains
from inference.requests.sampling import MAX_TEMPERATURE

# What an answer keeps of the output cap beside a thinking budget.
ANSWER_TOKENS = 64
# What the note takes that closes thinking at its budget (reference 000, reasoning), about.
NOTICE_TOKENS = 24


@dataclass(frozen=True, slots=True)
class RowOptions:
    """Job-wide values; None leaves a setting to the row or the model. Tokens are output tokens per row.

    `reasoning_budget` 0 means no cap on thinking; `estimated_budget` is one that the customer did not ask for, so a row
    that does not think is not refused beside it. `dimensions` is the width of an embedding, `video_fps` the frames per
    second that are read of every clip. `profile` says by which rules the rows are read.
    """

    max_output_tokens: int | None = None
    temperature: float | None = None
    reasoning: bool | None = None
    reasoning_budget: int | None = None
    reasoning_effort: str | None = None
    response_format: dict[str, Any] | None = None
    dimensions: int | None = None
    video_fps: float | None = None
    estimated_budget: int | None = None
    profile: RowProfile = NATIVE


def check_options(model: Model, options: RowOptions) -> None:
    """Raise `Unprocessable` where the options do not fit the model or each other.

    `response_format` itself is `check_response_format`'s; here only its meeting with other options is judged.
    """
    _check_fields(model, options)
    if model.task == "embed":
        _check_dimensions(model, options.dimensions)
    elif model.task == "chat":
        _check_output(model, options)
        _check_reasoning(model, options)
        _check_budget(model, options)
        _check_effort(model, options)
        _check_video_fps(model, options.video_fps)


def _check_fields(model: Model, options: RowOptions) -> None:
    """Each field belongs to a task: generation fields to chat models, dimensions to embedding models."""
    for name in RowOptions.__dataclass_fields__.keys() - {"profile"}:
        if getattr(options, name) is not None and model.task != ("embed" if name == "dimensions" else "chat"):
            raise _refused(name, f"model '{model.id}' does not support {name}")


def _check_dimensions(model: Model, dimensions: int | None) -> None:
    widths = model.embedding
    if dimensions is None or widths is None or widths.min_dimensions <= dimensions <= widths.dimensions:
        return
    low, high = widths.min_dimensions, widths.dimensions
    span = f"from {low} to {high}" if low < high else f"it takes {high} only"
    raise _refused("dimensions", f"dimensions {dimensions} is outside the range of {model.id}: {span}")


def _check_output(model: Model, options: RowOptions) -> None:
    cap, ceiling = options.max_output_tokens, model.max_output_tokens
    if cap is not None and cap < 1:
        raise _refused("max_output_tokens", "max_output_tokens must be at least 1")
    if cap is not None and ceiling is not None and cap > ceiling:
        raise _refused(
            "max_output_tokens", f"max_output_tokens {cap} is above the {ceiling}-token ceiling of {model.id}"
        )
    if options.temperature is not None and not 0 <= options.temperature <= MAX_TEMPERATURE:
        raise _refused("temperature", f"temperature must be a number from 0 to {MAX_TEMPERATURE}")


def _check_reasoning(model: Model, options: RowOptions) -> None:
    if options.reasoning and model.reasoning == "none":
        raise _refused("reasoning", f"model '{model.id}' produces no reasoning: leave reasoning out or set it to false")


def _check_budget(model: Model, options: RowOptions) -> None:
    budget, cap = options.reasoning_budget, options.max_output_tokens
    if budget is None:
        return
    if budget < 0:
        raise _refused("reasoning_budget", "reasoning_budget must be 0 or more")
    if budget == 0:
        return
    if not model.takes_budget:
        raise _refused(
            "reasoning_budget", f"model '{model.id}' does not support reasoning_budget: leave it out or set it to 0"
        )
    if options.reasoning is False:
        raise _refused(
            "reasoning_budget", "reasoning_budget needs reasoning: remove it or do not set reasoning to false"
        )
    if constrains(options.response_format):
        raise _refused(
            "reasoning_budget", "reasoning_budget cannot be combined with response_format: remove one of the two"
        )
    if cap is not None and budget > cap - ANSWER_TOKENS:
        raise _refused(
            "reasoning_budget",
            f"reasoning_budget {budget} must be at least {ANSWER_TOKENS} below max_output_tokens {cap}, "
            "so that the answer has room",
        )


def _check_effort(model: Model, options: RowOptions) -> None:
    effort = options.reasoning_effort
    if effort is None:
        return
    if not model.effort_levels:
        raise _refused("reasoning_effort", f"model '{model.id}' has no reasoning effort levels")
    if effort not in model.effort_levels:
        levels = ", ".join(model.effort_levels)
        raise _refused("reasoning_effort", f"reasoning_effort of {model.id} must be one of {levels}")
    if options.reasoning is False:
        raise _refused(
            "reasoning_effort", "reasoning_effort needs reasoning: remove it or do not set reasoning to false"
        )


def _check_video_fps(model: Model, fps: float | None) -> None:
    if fps is None:
        return
    ceiling = model.media.video.max_fps if model.media and model.media.video else None
    if ceiling is None:
        raise _refused("video_fps", f"model '{model.id}' does not support video_fps")
    if fps > ceiling:
        raise _refused("video_fps", f"video_fps {fps:g} is above the {ceiling:g} fps ceiling of {model.id}")
    if not fps > 0:
        raise _refused("video_fps", "video_fps must be above 0")


def _refused(param: str, message: str) -> Unprocessable:
    return Unprocessable(message, param=param)
