"""How much of a sampled answer was thinking, by what the server says of it."""

from typing import Any

import pytest

from anex.core.usage import Usage
from inference import catalogue
from inference.backends.answers import Answer
from inference.backends.registry import Server
from inference.requests import rows
from inference.requests.options import RowOptions
from jobs.run import measuring
from jobs.run.context import Context
from jobs.sizing import Length
from tests.jobs.run.driver import chat_line

USAGE = Usage(input_tokens=5, output_tokens=40)
OBJECT = {"response_format": {"type": "json_object"}}


def measured(message: dict[str, Any], *, reported: Any = None, reason: str = "stop", **body: Any) -> Length:
    model = catalogue.get("scripted")
    assert model is not None
    request = rows.parse(chat_line(**body).encode(), model=model, options=RowOptions())
    assert isinstance(request, rows.ChatRow)
    details = {"completion_tokens_details": {"reasoning_tokens": reported}}
    answer = Answer(200, {"choices": [{"message": message}], "usage": details}, USAGE, reason)
    server = Server(1, "scripted", "world", "http://127.0.0.1:9/v1", "scripted", "", 1, False)
    context = Context(job_id=None, region="world", model=model, options=RowOptions(), **UNUSED)  # type: ignore[arg-type]
    return measuring.measure(context, request, answer, USAGE, server)


UNUSED: dict[str, Any] = {
    "output_cap": 40,
    "card": None,
    "input_key": "",
    "input_etag": "",
    "input_bytes": 0,
    "store": None,
}
THOUGHT = {"reasoning_content": "so and so", "content": "yes"}


@pytest.mark.parametrize("wrong", [None, -1, 1.5, "12", True, float("nan")])
def test_thinking_is_counted_from_its_text_where_no_number_is_reported(wrong: Any) -> None:
    assert measured(THOUGHT, reported=wrong) == Length(40, 3)
    assert measured({"reasoning": "so and so", "content": "yes"}, reported=wrong) == Length(40, 3)
    assert measured({"content": "yes"}, reported=wrong) == Length(40)


def test_a_reported_number_counts_but_never_beyond_the_output() -> None:
    assert measured(THOUGHT, reported=12) == Length(40, 12)
    assert measured({"content": "yes"}, reported=12) == Length(40, 12)
    assert measured(THOUGHT, reported=10**12) == Length(40, 40)


def test_an_answer_that_never_began_is_all_thinking() -> None:
    assert measured({"reasoning_content": "so", "content": None}, reason="length") == Length(40, 40, cut=True)
    assert measured(THOUGHT, reason="length") == Length(40, 3, cut=True)


def test_thinking_beside_a_form_counts_as_answer() -> None:
    assert measured(THOUGHT, reported=12, **OBJECT) == Length(40)
