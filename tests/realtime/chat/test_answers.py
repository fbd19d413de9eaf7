"""Answers in OpenAI's shape, streamed and whole (reference 000, streaming and tool_choice)."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anex.core.usage import Usage
from inference.backends.faults import ServerFailed
from realtime.chat.chunks import Writer
from realtime.chat.reading import Reader
from realtime.chat.usage import usage_object
from realtime.sse import DONE, Parser
from tests.realtime.chat.streams import CHOICE, HEAD, NAMED, TOOLS, both, call, chunk, request, streamed

ROLE = chunk({"role": "assistant", "content": ""})
CALL = [ROLE, chunk(call(0, id="call_abcdefg", name="f", arguments="")), chunk(call(0, '{"a":')), chunk(call(0, "1}"))]


def test_text_is_passed_on_and_ends_once() -> None:
    choice = both(request(), ROLE, chunk({"content": "He"}), chunk({"content": "llo"}), chunk(finish="stop"))
    assert choice["message"] == {"role": "assistant", "content": "Hello", "refusal": None}
    assert choice["finish_reason"] == "stop"


def test_chunks_carry_our_id_and_no_usage_unless_it_was_asked_for() -> None:
    first, *_ = streamed(request(), ROLE)
    assert (first["id"], first["model"], first["created"]) == ("chatcmpl-1", "gemma4-12b", 1)
    assert "usage" not in first
    asked = request(stream=True, stream_options={"include_usage": True})
    events = [ROLE, chunk({"content": "a"}, usage={"prompt_tokens": 1}), chunk(finish="stop")]
    assert [one["usage"] for one in streamed(asked, *events)] == [None, None, None]


@given(st.lists(st.text(max_size=6), max_size=12), st.booleans())
def test_any_text_arrives_whole(pieces: list[str], in_the_last: bool) -> None:
    events = [ROLE, *(chunk({"content": piece}) for piece in pieces)]
    events[-1:] = (
        [chunk({"content": pieces[-1]}, finish="stop")]
        if in_the_last and pieces
        else [events[-1], chunk(finish="stop")]
    )
    assert both(request(), *events)["message"]["content"] == "".join(pieces)


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_thinking_comes_under_one_name_and_can_be_left_out(name: str) -> None:
    events = [ROLE, chunk({name: "hm"}), chunk({"content": "yes"}), chunk(finish="stop")]
    assert both(request(), *events)["message"]["reasoning_content"] == "hm"
    assert "reasoning_content" not in both(request(reasoning={"exclude": True}), *events)["message"]


@pytest.mark.parametrize(
    ("choice", "told", "finish"),
    [("auto", "tool_calls", "tool_calls"), ("auto", "stop", "tool_calls"), ("required", "stop", "tool_calls"),
     ("required", "tool_calls", "tool_calls"), (NAMED, "tool_calls", "stop"), (NAMED, "stop", "stop")],
)  # fmt: skip
def test_the_reason_follows_the_choice(choice: Any, told: str, finish: str) -> None:
    found = both(request(tools=TOOLS, tool_choice=choice), *CALL, chunk(finish=told))
    assert found["finish_reason"] == finish
    assert found["message"]["content"] is None
    assert found["message"]["tool_calls"] == [
        {"id": "call_abcdefg", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    ]


def test_tool_calls_is_never_the_reason_without_calls() -> None:
    found = both(
        request(tools=TOOLS, tool_choice="required"), ROLE, chunk({"content": "no"}), chunk(finish="tool_calls")
    )
    assert (found["finish_reason"], found["message"]["content"]) == ("stop", "no")


@pytest.mark.parametrize(
    ("choice", "text"),
    [(NAMED, '{"a":'), ("required", '[{"name": "f", "parameters": {"a":')],
)
def test_a_forced_call_that_is_cut_off_is_text(choice: Any, text: str) -> None:
    found = both(request(tools=TOOLS, tool_choice=choice), *CALL[:3], chunk(finish="length"))
    assert (found["finish_reason"], found["message"]["content"]) == ("length", text)
    assert "tool_calls" not in found["message"]


def test_a_free_call_that_is_cut_off_stays_a_call() -> None:
    found = both(request(tools=TOOLS), *CALL[:3], chunk(finish="length"))
    assert found["finish_reason"] == "length"
    assert found["message"]["tool_calls"][0]["function"]["arguments"] == '{"a":'


@pytest.mark.parametrize("choice", ["auto", "required"])
def test_parallel_calls_have_their_places_and_one_call_stays_one(choice: str) -> None:
    second = [chunk(call(1, id="x", name="g", arguments="{}")), chunk(finish="tool_calls")]
    calls = both(request(tools=TOOLS, tool_choice=choice), *CALL, *second)["message"]["tool_calls"]
    assert [each["function"]["name"] for each in calls] == ["f", "g"]
    assert len(calls[1]["id"]) >= 9
    one = both(request(tools=TOOLS, tool_choice=choice, parallel_tool_calls=False), *CALL, *second)
    assert [each["function"]["name"] for each in one["message"]["tool_calls"]] == ["f"]


def test_a_name_in_pieces_is_whole_and_a_repeated_one_is_not_doubled() -> None:
    pieces = [chunk(call(0, id="call_abcdefg", name="get_")), chunk(call(0, name="weather")), chunk(call(0, "{}"))]
    found = both(request(tools=TOOLS), ROLE, *pieces, chunk(call(0, "", name="get_weather")), chunk(finish="stop"))
    assert found["message"]["tool_calls"][0]["function"] == {"name": "get_weather", "arguments": "{}"}


def test_a_call_without_arguments_has_none() -> None:
    found = both(request(tools=TOOLS), chunk(call(0, id="call_abcdefg", name="f")), chunk(finish="tool_calls"))
    assert found["message"]["tool_calls"][0]["function"]["arguments"] == "{}"


@given(st.lists(st.tuples(st.integers(0, 2), st.text(max_size=4)), max_size=10), st.sampled_from(["auto", "required"]))
def test_any_order_of_pieces_makes_whole_calls(pieces: list[tuple[int, str]], choice: str) -> None:
    begun: set[int] = set()
    events = []
    for index, text in pieces:
        head = {} if index in begun else {"id": f"call_{index:09}", "name": f"f{index}"}
        begun.add(index)
        events.append(chunk(call(index, text, **head)))
    both(request(tools=TOOLS, tool_choice=choice), ROLE, *events, chunk(finish="stop"))


@pytest.mark.parametrize(
    "event", [b"{", b"[]", b'{"error": {"message": "x"}}', chunk(finish="abort"), chunk(finish="error"), b"\xff"]
)
def test_a_failing_server_is_noticed(event: bytes) -> None:
    with pytest.raises(ServerFailed):
        Reader(request()).read(event)


@pytest.mark.parametrize(
    "event",
    [
        b"{}",
        b'{"choices": null}',
        b'{"choices": []}',
        b'{"choices": [5]}',
        b'{"choices": [{"delta": null}]}',
        b'{"choices": [{"delta": {"content": 5, "tool_calls": {"a": 1}}}]}',
        b'{"choices": [{"delta": {"tool_calls": [1]}}]}',
    ],
)
def test_an_odd_chunk_brings_nothing(event: bytes) -> None:
    assert Reader(request()).read(event) is None


def test_nan_and_what_follows_the_end_are_harmless() -> None:
    odd = b'{"choices": [{"delta": {"content": "a"}, "logprobs": {"content": [{"token": "a", "logprob": -Infinity}]}}]}'
    found = both(request(logprobs=True), ROLE, odd, chunk(finish="stop"), chunk({"content": "b"}, finish="stop"))
    assert found["message"]["content"] == "a"
    assert found["logprobs"]["content"] == [{"token": "a", "logprob": None, "top_logprobs": []}]


def test_an_unknown_reason_ends_an_answer_like_any_other() -> None:
    assert both(request(), ROLE, chunk({"content": "a"}), chunk(finish="planned"))["finish_reason"] == "stop"


def test_usage_is_the_last_that_was_reported() -> None:
    reader = Reader(request())
    assert reader.usage() == (None, False)
    reader.read(chunk({"content": "a"}, usage={"prompt_tokens": 3, "completion_tokens": 1}))
    last = {"prompt_tokens": 3, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 1}}
    reader.read(orjson.dumps({"choices": [], "usage": last}))
    assert reader.usage() == (Usage(input_tokens=3, output_tokens=2), False)
    assert reader.usage(output_bound=1) == (Usage(input_tokens=3, output_tokens=1), True)
    told = usage_object(Usage(input_tokens=3, output_tokens=2), reasoning_tokens=reader.reasoning_tokens())
    assert (told["total_tokens"], told["completion_tokens_details"]) == (5, {"reasoning_tokens": 1})
    reader.read(orjson.dumps({"choices": [], "usage": {"prompt_tokens": -1, "completion_tokens": 2}}))
    assert reader.usage() == (None, True)


def test_an_answer_that_fails_ends_with_an_error_beside_its_reason() -> None:
    writer = Writer(HEAD, usage=True)
    error = {"message": "The model failed.", "type": "server_error", "param": None, "code": "upstream_error"}
    (failed, end), (used, _) = (
        Parser().feed(events) for events in (writer.error(error), writer.finish({"total_tokens": 1}))
    )
    failed, used = orjson.loads(failed), orjson.loads(used)
    assert end == DONE
    assert (failed["error"], failed["choices"][0]["finish_reason"]) == (error, "error")
    assert (used["choices"], used["usage"]) == ([], {"total_tokens": 1})


@given(st.lists(CHOICE, max_size=6), st.sampled_from(["auto", "required", NAMED]), st.booleans())
def test_whatever_a_server_streams_both_kinds_of_clients_get_the_same(
    choices: list[dict[str, Any]], choice: Any, stops: bool
) -> None:
    asked = request(tools=TOOLS, tool_choice=choice, logprobs=True, stop=["aa", "b"] if stops else None)
    events = [orjson.dumps({"choices": [each], "usage": {"completion_tokens": 1}}) for each in choices]
    try:
        both(asked, *events, chunk(finish="stop"))
    except ServerFailed:
        return
