"""The 422 rules of a job's options, each with its sentence (references 001 and 003, createJob)."""

from typing import Any

import pytest

from anex.core.errors import InvalidRequest, Unprocessable
from inference.catalogue import get
from inference.requests.options import RowOptions, check_options
from inference.requests.response_format import check_response_format

JSON_FORMAT = {"type": "json_object"}
PLAIN, BUDGET, EFFORT = "smollm2-135m-instruct", "qwen3-14b", "qwen3.8-27b"
EMBED, DECIDE = "qwen3-embedding-8b", "laya"


def check(model_id: str, **options: Any) -> None:
    model = get(model_id)
    assert model is not None
    check_options(model, RowOptions(**options))


@pytest.mark.parametrize(
    ("model_id", "options"),
    [
        (PLAIN, {}),
        (PLAIN, {"max_output_tokens": 512, "temperature": 2, "reasoning": False, "reasoning_budget": 0}),
        (PLAIN, {"response_format": JSON_FORMAT, "reasoning_budget": 0}),
        (BUDGET, {"max_output_tokens": 32768, "reasoning": True, "reasoning_budget": 32704, "temperature": 0}),
        (BUDGET, {"reasoning": False, "reasoning_budget": 0, "response_format": JSON_FORMAT}),
        (BUDGET, {"reasoning_budget": 100, "response_format": {"type": "text"}}),
        (EFFORT, {"reasoning_effort": "low", "reasoning_budget": 100, "reasoning": True, "video_fps": 20}),
        (EMBED, {"dimensions": 32}),
        (EMBED, {"dimensions": 4096}),
        (DECIDE, {}),
    ],
)
def test_options_that_fit_pass(model_id: str, options: dict[str, Any]) -> None:
    check(model_id, **options)


@pytest.mark.parametrize(
    ("model_id", "options", "sentence"),
    [
        (PLAIN, {"max_output_tokens": 513}, "max_output_tokens 513 is above the 512-token ceiling of " + PLAIN),
        (PLAIN, {"max_output_tokens": 0}, "max_output_tokens must be at least 1"),
        (PLAIN, {"temperature": 2.1}, "temperature must be a number from 0 to 2"),
        (PLAIN, {"temperature": float("nan")}, "temperature must be a number from 0 to 2"),
        (PLAIN, {"reasoning": True}, f"model '{PLAIN}' produces no reasoning: leave reasoning out or set it to false"),
        (
            PLAIN,
            {"reasoning_budget": 1},
            f"model '{PLAIN}' does not support reasoning_budget: leave it out or set it to 0",
        ),
        (PLAIN, {"reasoning_effort": "low"}, f"model '{PLAIN}' has no reasoning effort levels"),
        (BUDGET, {"reasoning_budget": -1}, "reasoning_budget must be 0 or more"),
        (
            BUDGET,
            {"reasoning_budget": 1, "reasoning": False},
            "reasoning_budget needs reasoning: remove it or do not set reasoning to false",
        ),
        (
            BUDGET,
            {"reasoning_budget": 1, "response_format": JSON_FORMAT},
            "reasoning_budget cannot be combined with response_format: remove one of the two",
        ),
        (
            BUDGET,
            {"reasoning_budget": 937, "max_output_tokens": 1000},
            "reasoning_budget 937 must be at least 64 below max_output_tokens 1000, so that the answer has room",
        ),
        (EFFORT, {"reasoning_effort": "Low"}, "reasoning_effort of qwen3.8-27b must be one of low, medium, xhigh"),
        (
            EFFORT,
            {"reasoning_effort": "low", "reasoning": False},
            "reasoning_effort needs reasoning: remove it or do not set reasoning to false",
        ),
        (EFFORT, {"video_fps": 25}, "video_fps 25 is above the 20 fps ceiling of qwen3.8-27b"),
        (EFFORT, {"video_fps": 0}, "video_fps must be above 0"),
        ("gemma4-12b", {"video_fps": 1}, "model 'gemma4-12b' does not support video_fps"),
        (BUDGET, {"video_fps": 1}, f"model '{BUDGET}' does not support video_fps"),
        (BUDGET, {"dimensions": 64}, f"model '{BUDGET}' does not support dimensions"),
        (EMBED, {"dimensions": 31}, f"dimensions 31 is outside the range of {EMBED}: from 32 to 4096"),
        (EMBED, {"dimensions": 4097}, f"dimensions 4097 is outside the range of {EMBED}: from 32 to 4096"),
        ("minilm-l6-v2", {"dimensions": 64}, "dimensions 64 is outside the range of minilm-l6-v2: it takes 384 only"),
        (DECIDE, {"dimensions": 64}, "model 'laya' does not support dimensions"),
    ],
)
def test_option_that_does_not_fit_is_422(model_id: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Unprocessable) as refusal:
        check(model_id, **options)
    assert refusal.value.message == sentence
    assert refusal.value.param in options


@pytest.mark.parametrize("model_id", [EMBED, DECIDE])
@pytest.mark.parametrize(
    "options",
    [
        {"max_output_tokens": 1},
        {"temperature": 1.0},
        {"reasoning": False},
        {"reasoning_budget": 0},
        {"reasoning_effort": "low"},
        {"response_format": JSON_FORMAT},
        {"video_fps": 1.0},
    ],
)
def test_generation_option_on_another_task_is_422(model_id: str, options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(Unprocessable) as refusal:
        check(model_id, **options)
    assert refusal.value.message == f"model '{model_id}' does not support {name}"


def test_malformed_response_format_of_a_job_is_400() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        check_response_format({"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "banana"}}})
    assert (refusal.value.status, refusal.value.param) == (400, "response_format.json_schema.schema")
    assert refusal.value.code == "invalid_response_format"


def test_deeply_nested_schema_is_refused_and_not_followed() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(400):
        schema = {"properties": {"a": schema}}
    with pytest.raises(InvalidRequest, match="must not nest too deeply"):
        check_response_format({"type": "json_schema", "json_schema": {"name": "n", "schema": schema}})
