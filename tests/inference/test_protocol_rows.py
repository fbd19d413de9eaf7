"""Rows of OpenAI batches in the other text protocols: read as chats, answered in their own shape, refused in words."""

import json
from typing import Any

import pytest

from inference.catalogue import get
from inference.refusals import RowError
from inference.requests import chat, protocols, rows
from inference.requests.options import RowOptions
from inference.requests.profiles import NATIVE, OPENAI, RowProfile

ANSWER = {
    "id": "chatcmpl-7",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"message": {"content": "Rhine", "reasoning_content": "hm"}, "finish_reason": "length"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
}
PICTURE = {"type": "input_image", "image_url": "https://a.example/a.png"}


def read(url: str, body: dict[str, Any], profile: RowProfile = OPENAI) -> chat.ChatRow:
    model = get("gemma4-12b")
    assert model
    line = {"custom_id": "a", "method": "POST", "url": url, "body": {"model": model.id, **body}}
    row = rows.parse(json.dumps(line).encode(), model=model, options=RowOptions(profile=profile))
    assert isinstance(row, chat.ChatRow)
    return row


def test_responses_row_is_a_chat_and_its_answer_a_response() -> None:
    asked = {"instructions": "Be brief.", "input": "hi", "max_output_tokens": 9, "reasoning": {"effort": "none"}}
    row = read("/v1/responses", asked)
    assert row.messages == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    assert row.own
    assert (row.own.max_tokens, row.own.reasoning.thinks) == (9, False)
    answer = protocols.shape(row, chat.as_realtime(ANSWER))
    assert (answer["id"], answer["status"], answer["max_output_tokens"]) == ("resp_7", "incomplete", 9)
    assert [item["type"] for item in answer["output"]] == ["reasoning", "message"]
    assert answer["usage"]["total_tokens"] == 5


def test_completions_row_is_a_chat_and_its_answer_a_completion() -> None:
    row = read("/v1/completions", {"prompt": "hi", "max_tokens": 9})
    assert row.messages == [{"role": "user", "content": "hi"}]
    answer = protocols.shape(row, chat.as_realtime(ANSWER))
    assert (answer["id"], answer["object"], answer["usage"]) == ("cmpl-7", "text_completion", ANSWER["usage"])
    assert answer["choices"] == [{"index": 0, "text": "Rhine", "logprobs": None, "finish_reason": "length"}]


@pytest.mark.parametrize(
    ("url", "body", "param"),
    [
        ("/v1/responses", {"input": "hi", "previous_response_id": "resp_1"}, "body.previous_response_id"),
        ("/v1/responses", {"input": "hi", "max_output_tokens": 0}, "body.max_output_tokens"),
        ("/v1/responses", {"input": [{"role": "king", "content": "hi"}]}, "body.input[0].role"),
        ("/v1/responses", {"input": "hi", "stream": True}, "body.stream"),
        ("/v1/responses", {"input": "hi", "include": [[None]]}, "body.include"),
        ("/v1/completions", {"prompt": ["a", "b"]}, "body.prompt"),
        ("/v1/completions", {"prompt": "hi", "echo": True}, "body.echo"),
    ],
)
def test_refusal_names_the_field_as_it_was_written(url: str, body: dict[str, Any], param: str) -> None:
    with pytest.raises(RowError) as refused:
        read(url, body)
    assert refused.value.param == param
    assert param.removeprefix("body.") in refused.value.message


def test_picture_of_a_row_keeps_the_path_it_was_written_at() -> None:
    row = read("/v1/responses", {"instructions": "Look.", "input": [{"role": "user", "content": [PICTURE]}]})
    assert [part.at for part in row.media] == ["body.input[0].content[0]"]
    assert rows.content_at(row) == "body.input"
    assert rows.content_at(read("/v1/completions", {"prompt": "x"})) == "body.prompt"


def test_native_rows_are_chats_alone() -> None:
    with pytest.raises(RowError) as refused:
        read("/v1/responses", {"input": "hi"}, NATIVE)
    assert refused.value.code == "invalid_url"
