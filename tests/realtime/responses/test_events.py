"""The events of a response: numbered, as OpenAI's types have them, and in sum the response that is not streamed."""

from typing import Any

import openai
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from anex.core.usage import Usage
from inference.backends.faults import ServerFailed
from inference.requests import responses
from realtime.chat.protocol import Head
from realtime.chat.reading import Reader
from realtime.chat.usage import usage_object
from realtime.responses.events import Writer
from realtime.responses.protocol import RESPONSES
from tests.realtime.chat.streams import CHOICE, TOOLS, call, chunk, request

HEAD = Head("resp_1", 1, "gemma4-12b")
USAGE = usage_object(Usage(input_tokens=3, output_tokens=2))
BODY = {"input": "hi", "tools": [{"type": "function", "name": name, "parameters": {}, "strict": None} for name in "fg"]}
EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
CALL = [chunk(call(0, id="call_abcdefg", name="f", arguments="")), chunk(call(0, '{"a":')), chunk(call(0, "1}"))]


def echo() -> responses.Echo:
    return responses.translate(BODY, refuses_unknown=True).echo


def data(events: bytes) -> list[dict[str, Any]]:
    """The events, each checked to be what its name says, in OpenAI's shape."""
    out = []
    for block in events.decode().removesuffix("\n\n").split("\n\n"):
        name, told = block.split("\n")
        out.append(orjson.loads(told.removeprefix("data: ")))
        assert name == f"event: {out[-1]['type']}"
        EVENT.validate_python(out[-1])
    return out


def both(asked: Any, *chunks: bytes) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The response that is not streamed, and the events of the same answer."""
    readers, writer = (Reader(asked), Reader(asked)), Writer(HEAD, echo())
    gathered, written = RESPONSES.whole(HEAD, asked, echo()), b""
    for event in chunks:
        if delta := readers[0].read(event):
            written += writer.write(delta)
        if delta := readers[1].read(event):
            gathered.add(delta)
    written += writer.finish(USAGE)
    return gathered.body(USAGE), data(written)


def without_call_ids(response: dict[str, Any]) -> dict[str, Any]:
    return response | {"output": [item | {"call_id": None} for item in response["output"]]}


def check(asked: Any, *chunks: bytes) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    whole, events = both(asked, *chunks)
    Response.model_validate(whole)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    assert without_call_ids(events[-1]["response"]) == without_call_ids(whole)
    assert events[-1]["type"] == f"response.{whole['status']}"
    done = {event["output_index"]: event["item"] for event in events if event["type"] == "response.output_item.done"}
    assert [done[place] for place in range(len(done))] == events[-1]["response"]["output"]
    state = ResponseStreamState(input_tools=[], text_format=openai.omit)
    for event in events:
        state.handle_event(EVENT.validate_python(event))
    return whole, events


def test_thinking_text_and_calls_are_items_in_their_order() -> None:
    asked = request(tools=TOOLS)
    thoughts = [chunk({"reasoning": "h"}), chunk({"reasoning": "m"})]
    whole, events = check(asked, *thoughts, chunk({"content": "I look."}), *CALL, chunk(finish="tool_calls"))
    kinds = [(item["type"], item["id"]) for item in whole["output"]]
    assert kinds == [("reasoning", "rs_10"), ("message", "msg_11"), ("function_call", "fc_12")]
    assert whole["output"][0]["summary"] == [{"type": "summary_text", "text": "hm"}]
    assert (whole["output"][2]["call_id"], whole["output"][2]["arguments"]) == ("call_abcdefg", '{"a":1}')
    assert [event["delta"] for event in events if event["type"].endswith("arguments.delta")] == ['{"a":', "1}"]
    assert whole["usage"]["total_tokens"] == 5
    assert whole["tools"] == BODY["tools"]
    assert whole["store"] is False


def test_answer_that_is_cut_off_is_incomplete() -> None:
    whole, _ = check(request(), chunk({"content": "He"}), chunk(finish="length"))
    assert (whole["status"], whole["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert whole["output"][-1]["status"] == "incomplete"
    nothing, _ = check(request(), chunk({"reasoning": "hm"}), chunk(finish="length"))
    assert [item["type"] for item in nothing["output"]] == ["reasoning"]


def test_empty_answer_has_an_empty_message() -> None:
    whole, _ = check(request(), chunk(finish="stop"))
    assert [part["text"] for part in whole["output"][0]["content"]] == [""]


def test_log_probabilities_stand_beside_their_text() -> None:
    asked = request(logprobs=True)
    whole, events = check(
        asked, chunk({"content": "a"}, tokens=["a"]), chunk({"content": "b"}, tokens=["b"]), chunk(finish="length")
    )
    assert [entry["token"] for entry in whole["output"][0]["content"][0]["logprobs"]] == ["a", "b"]
    (first, *_) = [event for event in events if event["type"] == "response.output_text.delta"]
    assert [entry["token"] for entry in first["logprobs"]] == ["a"]


@pytest.mark.parametrize("begun", [True, False])
def test_failed_answer_ends_with_an_error_and_its_response(begun: bool) -> None:
    writer, reader = Writer(HEAD, echo()), Reader(request())
    written = b""
    if begun:
        delta = reader.read(chunk({"content": "He"}))
        assert delta
        written = writer.write(delta)
    told = {"message": "It failed.", "type": "server_error", "param": None, "code": "upstream_error", "charged": False}
    *_, error, failed = _raw(written + writer.error(told))
    assert (error["type"], error["code"], error["error"]) == ("error", "upstream_error", told)
    assert (failed["type"], failed["response"]["status"]) == ("response.failed", "failed")
    assert failed["response"]["error"] == {"code": "upstream_error", "message": "It failed."}
    assert [item["status"] for item in failed["response"]["output"]] == (["incomplete"] if begun else [])


def _raw(events: bytes) -> list[dict[str, Any]]:
    return [orjson.loads(line[6:]) for line in events.split(b"\n") if line.startswith(b"data: ")]


@given(st.lists(CHOICE, max_size=6), st.sampled_from(["auto", "required"]), st.booleans())
def test_whatever_a_server_streams_events_add_up_to_the_response(choices: Any, choice: str, cut: bool) -> None:
    asked = request(tools=TOOLS, tool_choice=choice)
    events = [orjson.dumps({"choices": [each], "usage": {"completion_tokens": 1}}) for each in choices]
    try:
        whole, events = both(asked, *events, chunk(finish="length" if cut else "stop"))
    except ServerFailed:
        return
    assert _texts(events[-1]["response"]) == _texts(whole)
    assert events[-1]["response"]["status"] == whole["status"]


def _texts(response: dict[str, Any]) -> dict[str, Any]:
    """By kind of item: thinking and text as one, calls each."""
    found: dict[str, Any] = {"reasoning": "", "message": "", "function_call": []}
    for item in response["output"]:
        if item["type"] == "function_call":
            found["function_call"].append((item["name"], item["arguments"]))
        else:
            found[item["type"]] += "".join(part["text"] for part in item.get("summary") or item["content"])
    return found
