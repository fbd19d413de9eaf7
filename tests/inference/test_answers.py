"""What a model server's complete answer is read as."""

from typing import Any

import orjson
import pytest

from inference.backends.answers import read_answer


@pytest.mark.parametrize(
    ("message", "thinking"),
    [
        ({"content": "4", "reasoning": "2 + 2"}, "2 + 2"),
        ({"content": "4", "reasoning_content": "2 + 2"}, "2 + 2"),
        ({"content": "4", "reasoning": "2 + 2", "reasoning_content": None}, "2 + 2"),
        ({"content": "4", "reasoning": None}, None),
        ({"content": "4"}, "absent"),
    ],
)
def test_thinking_has_one_name_whatever_the_server_calls_it(message: dict[str, Any], thinking: str | None) -> None:
    answer = read_answer(200, orjson.dumps({"choices": [{"message": message}, 7]}))
    read = answer.body["choices"][0]["message"]
    assert read.get("reasoning_content", "absent") == thinking
    assert "reasoning" not in read
