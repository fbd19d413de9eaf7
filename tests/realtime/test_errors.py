"""What a client is told of a failure, whatever a model server said of it."""

import pytest

from anex.core.errors import InvalidRequest
from inference.backends import overflow
from inference.backends.faults import Throttled
from inference.requests.profiles import OPENAI_V1, V1
from realtime import errors


@pytest.mark.parametrize(("asked_s", "told"), [(None, 1), (0.2, 1), (7.4, 7), (1e300, 60)])
def test_wait_a_server_asks_for_is_told_within_reason(asked_s: float | None, told: int) -> None:
    shown = errors.shown(Throttled("busy", retry_after_s=asked_s))
    assert (shown.status, shown.retry_after) == (429, told)


def test_text_beyond_the_window_of_an_embedding_model_has_a_code_of_its_own() -> None:
    told = {"error": {"message": "This model's maximum context length is 9 tokens.", "type": "BadRequestError"}}
    codes = {
        (profile.name, field): errors.as_object(refused, profile)["code"]
        for profile in (V1, OPENAI_V1)
        for field in ("input", "messages")
        if (refused := overflow.read_overflow(400, told, context=9, field=field))
    }
    assert codes.pop(("/openai/v1", "input")) == "input_too_long"
    assert list(codes.values()) == ["context_length_exceeded"] * 3
    assert errors.worded(InvalidRequest("No.", code=overflow.CODE), OPENAI_V1).code == overflow.CODE
