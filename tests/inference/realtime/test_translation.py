"""A refusal of a translated request names what its sender wrote."""

import pytest

from anex.core.errors import InvalidRequest
from inference.requests.translation import rename

NAMES = {"messages": "input", "messages[1]": "input[0]", "messages[1].tool_calls[0].function": "input[2]"}


@pytest.mark.parametrize("prefix", ["", "body."])
@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("messages", "input"),
        ("messages[1].content[0].text", "input[0].content[0].text"),
        ("messages[1].tool_calls[0].function.arguments", "input[2].arguments"),
        ("messages[12].role", "input[12].role"),
        ("message", "message"),
        ("temperature", "temperature"),
    ],
)
def test_longest_known_path_is_named_as_it_was_written(prefix: str, path: str, written: str) -> None:
    error = InvalidRequest(f"{prefix}{path} must be whole", param=prefix + path)
    rename(error, NAMES, prefix=prefix)
    assert (error.param, error.message) == (prefix + written, f"{prefix}{written} must be whole")
