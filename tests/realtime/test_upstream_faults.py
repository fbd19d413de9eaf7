"""What a faulty model server means for the client, the charge and the hold: a table, streamed and not."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from inference.models import Backend
from realtime import servers
from realtime.sse import Parser
from tests.realtime.raw_server import HEAD, raw_server
from tests.realtime.served import Surface, configure

# What the server does; the status of an answer that is not streamed; what a stream ends with; how it is settled.
FAULTS = [
    ("[[drop]]", 502, "refused", "failed"),
    ("[[status 500]]", 502, "refused", "failed"),
    ("[[status 429]]", 429, "refused", "failed"),
    ("[[status 503]]", 429, "refused", "failed"),
    ("[[cut]] [[tokens 12]]", 502, "error", "failed"),
    ("[[usage absent]]", 200, "whole", "answered"),
    ("[[usage null]]", 200, "whole", "answered"),
    ("[[usage zero]]", 200, "whole", "answered"),
    ("[[usage negative]]", 200, "whole", "answered"),
    ("[[usage nan]]", 200, "whole", "answered"),
    ("[[usage absurd]]", 200, "whole", "answered"),
    ("[[usage text]]", 200, "whole", "answered"),
]


def events(text: str) -> list[Any]:
    return [data if data == b"[DONE]" else orjson.loads(data) for data in Parser().feed(text.encode())]


@pytest.mark.parametrize(("fault", "status", "ending", "settled"), FAULTS, ids=[fault for fault, *_ in FAULTS])
def test_fault_of_a_server(surface: Surface, fault: str, status: int, ending: str, settled: str) -> None:
    check(surface, fault, status, ending, settled)


def test_silence_of_a_server(patient: Callable[..., Surface]) -> None:
    check(patient(silence_s=0.6), "[[sleep 1000]]", 502, "error", "failed")


def check(surface: Surface, fault: str, status: int, ending: str, settled: str) -> None:
    """What both kinds of answers and their records come to."""
    whole, streamed = surface.chat(fault), surface.chat(fault, stream=True)
    assert whole.status_code == status
    assert ("retry-after" in whole.headers) is (status == 429)
    assert "x-should-retry" not in whole.headers
    if ending == "refused":
        assert streamed.status_code == status
        assert isinstance(streamed.json()["error"]["code"], str)
    else:
        assert streamed.status_code == 200
        *_, last, done = events(streamed.text)
        assert done == b"[DONE]"
        assert last["choices"][0]["finish_reason"] == ("error" if ending == "error" else "stop")
        assert ("error" in last) is (ending == "error")
        if ending == "error":
            assert (last["error"]["retry"], last["error"]["charged"]) == ("same", False)
    first, second = surface.settled(2)
    assert {first.status, second.status} == {settled}
    free = settled == "failed" or "zero" in fault
    assert (first.amount_nano == 0, second.amount_nano == 0) == (free, free)
    assert first.amount_nano == second.amount_nano
    if status == 200:
        assert whole.json()["usage"]["prompt_tokens"] == first.input_tokens
        assert whole.json()["usage"]["completion_tokens"] == first.output_tokens
        assert first.output_tokens <= 50


def chunk(text: str = "", **more: Any) -> bytes:
    choice = {"index": 0, "delta": {"content": text} if text else {}, "finish_reason": None} | more
    return b"data: " + orjson.dumps({"choices": [choice]})


LAST = chunk(finish_reason="stop")
USED = b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}'
DONE = b"data: [DONE]"
CUT = len(b'data: {"choices":[{"index":0,"delta":{"content":"')
SHAPES = {
    "CRLF": [HEAD, b"\r\n\r\n".join([chunk("a"), chunk("é"), LAST, USED, DONE, b""])],
    "all in one packet": [HEAD + b"\n\n".join([chunk("a"), chunk("é"), LAST, USED, DONE, b""])],
    "inside a character": [
        HEAD + chunk("a") + b"\n\n" + chunk("é")[: CUT + 1],
        chunk("é")[CUT + 1 :] + b"\n\n",
        b"\n\n".join([LAST, USED, DONE, b""]),
    ],
    "without DONE": [HEAD, b"\n\n".join([chunk("aé"), LAST, USED, b""])],
    "without a space": [HEAD, b"\n\n".join([chunk("aé"), LAST, USED, DONE, b""]).replace(b"data: ", b"data:")],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_stream_is_read_however_it_is_cut(surface: Surface, shape: str) -> None:
    with raw_server(SHAPES[shape]) as port:
        only(surface, port)
        assert surface.chat().json()["choices"][0]["message"]["content"] == "aé"
        assert '"error"' not in surface.chat(stream=True).text
    assert {(one.input_tokens, one.output_tokens) for one in surface.settled(2)} == {(3, 2)}


BROKEN = {
    "after two chunks": [HEAD, chunk("a") + b"\n\n" + chunk("b") + b"\n\n"],
    "inside a character": [HEAD, chunk("a") + b"\n\n" + chunk("é")[: CUT + 1]],
    "an error in the stream": [HEAD, chunk("a") + b'\n\ndata: {"error":{"message":"out of memory"}}\n\n'],
    "what is no JSON": [HEAD, chunk("a") + b"\n\ndata: {nonsense\n\n"],
}


@pytest.mark.parametrize("breach", BROKEN)
def test_stream_that_breaks_ends_with_an_error_and_is_free(surface: Surface, breach: str) -> None:
    with raw_server(BROKEN[breach]) as port:
        only(surface, port)
        assert surface.chat().status_code == 502
        first, *_, last, done = events(surface.chat(stream=True).text)
    assert first["choices"][0]["delta"]["content"].startswith("a")
    assert (last["error"]["code"], last["choices"][0]["finish_reason"], done) == ("upstream_error", "error", b"[DONE]")
    assert "memory" not in str(last)
    assert {(one.status, one.amount_nano) for one in surface.settled(2)} == {("failed", 0)}


FORM = {"type": "json_schema", "json_schema": {"name": "list", "schema": {"type": "array", "contains": {}}}}
# As vLLM 0.32 wrote them.
NO_GRAMMAR = (
    b'data: {"error": {"message": "Grammar error: Unimplemented keys: [\\"contains\\"]", "type": "BadRequestError", '
    b'"param": null, "code": 400}}\n\ndata: [DONE]\n\n'
)
ROLE = b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n'
FAILED = b'data: {"error": {"message": "Internal server error", "type": "InternalServerError", "code": 500}}\n\n'


def test_refusal_that_comes_after_a_200_is_a_refusal_and_no_fault_of_the_server(surface: Surface) -> None:
    with raw_server([HEAD, NO_GRAMMAR]) as port:
        only(surface, port)
        for _ in range(servers.FAILURES):
            refused = surface.chat(response_format=FORM)
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_request")
            assert "contains" in refused.json()["error"]["message"]
        assert surface.chat(response_format=FORM, stream=True).status_code == 400
    records = surface.settled(servers.FAILURES + 1)
    assert {(one.status, one.amount_nano) for one in records} == {("refused", 0)}


def test_schema_that_a_server_stumbles_over_does_not_put_it_to_rest(surface: Surface) -> None:
    with raw_server([HEAD, ROLE, FAILED]) as port:
        only(surface, port)
        asked = [surface.chat(response_format=FORM) for _ in range(servers.FAILURES)]
        assert {answer.status_code for answer in asked} == {502}
        asked = [surface.chat() for _ in range(servers.FAILURES + 1)]
        assert [answer.status_code for answer in asked] == [502] * servers.FAILURES + [503]


def only(surface: Surface, port: int) -> None:
    """Make a server the only one of the model."""
    Backend.objects.filter(model_id="scripted").delete()
    configure(port, "scripted")
    surface.refresh()
