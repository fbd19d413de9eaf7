"""A sound request of a text protocol with a wrong value in any one place is refused by a name, or can be written."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from anex.core.errors import AnexError
from inference.catalogue import get
from inference.requests import chat_request, chat_upstream
from inference.requests.profiles import OPENAI_V1, V1, Profile
from inference.requests.translation import rename
from realtime.chat.completions import CHAT
from realtime.chat.protocol import Protocol
from realtime.completions.protocol import COMPLETIONS
from realtime.responses.protocol import RESPONSES

WRONG: tuple[Any, ...] = (None, True, 0, -0.5, "", "\x00", [], [None], [{}], {}, {"type": 5}, {"name": []})
GRAMMAR = {"syntax": "lark", "definition": "a"}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}}
TOOLS = [
    {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA, "strict": True}},
    {"type": "custom", "custom": {"name": "g", "format": {"type": "grammar", "grammar": GRAMMAR}}},
]
CHATS: list[dict[str, Any]] = [
    {
        "messages": [
            {"role": "system", "content": "s", "name": "n"},
            {"role": "user", "content": [{"type": "text", "text": "t"}]},
            {
                "role": "assistant",
                "content": None,
                "reasoning_content": "r",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                    {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "i"}},
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "r"},
        ],
        "tools": TOOLS,
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "stream": True,
        "stream_options": {"include_usage": True},
        "reasoning": {"effort": "low", "exclude": False, "max_tokens": 5},
        "stop": ["a"],
    },
    {
        "messages": [{"role": "user", "content": "t"}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}},
        "logprobs": True,
        "top_logprobs": 2,
        "max_completion_tokens": 5,
    },
]
RESPONSE: dict[str, Any] = {
    "input": [
        {"role": "developer", "content": "s"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "t"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "t"}]},
        {"type": "item_reference", "id": "rs_1"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "a"}, {"type": "refusal", "refusal": "n"}]},
        {"role": "assistant", "content": "a"},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "i"},
        {"type": "function_call_output", "call_id": "c1", "output": "o"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "t"}]},
    ],
    "instructions": "i",
    "tools": [{"type": "function", "name": "f", "parameters": SCHEMA}, {"type": "custom", "name": "g"}],
    "tool_choice": {"type": "function", "name": "f"},
    "reasoning": {"effort": "low", "summary": "auto"},
    "text": {"format": {"type": "text"}},
    "include": ["message.output_text.logprobs"],
    "top_logprobs": 2,
    "metadata": {"a": "b"},
}
COMPLETION = {"prompt": ["hi"], "max_tokens": 5, "echo": False, "best_of": 1, "suffix": "", "stop": "a"}


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*at, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*at, key))


def spoilt(body: dict[str, Any], at: tuple[Any, ...], wrong: Any) -> dict[str, Any]:
    changed = node = copy.deepcopy(body)
    for key in at[:-1]:
        node = node[key]
    node[at[-1]] = wrong
    return changed


@pytest.mark.parametrize("profile", [V1, OPENAI_V1], ids=lambda profile: profile.name)
@pytest.mark.parametrize(
    ("protocol", "body"), [*((CHAT, chat) for chat in CHATS), (RESPONSES, RESPONSE), (COMPLETIONS, COMPLETION)]
)
def test_no_wrong_value_is_more_than_refused(protocol: Protocol, body: dict[str, Any], profile: Profile) -> None:
    model = get("scripted")
    assert model
    for at in places(body):
        for wrong in WRONG:
            names: Any = {}
            try:
                chat, _, names, _ = protocol.translate(spoilt(body, at, wrong), profile)
                request = chat_request.read(chat, model=model, profile=profile)
            except AnexError as error:
                rename(error, names)
                assert (error.status, "body." in error.message) == (400, False), (at, wrong)
            else:
                assert chat_upstream.write(request, served_name="m", model=model)
