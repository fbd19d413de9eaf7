"""A line of a batch file is judged at once or exactly, with the same outcome, and refused with the field."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inference.refusals import RowError
from inference.requests import batch_lines
from inference.requests.batch_lines import Target, reader, target_of

CHAT = Target("/v1/chat/completions", "m")


def line(**changes: Any) -> bytes:
    """A line of the target with fields changed or, with ..., left out."""
    fields = {"custom_id": "a", "method": "POST", "url": CHAT.url, "body": {"model": "m", "messages": []}} | changes
    return json.dumps({name: value for name, value in fields.items() if value is not ...}).encode()


def outcome(read: Any, text: bytes) -> Any:
    try:
        return read(text)
    except RowError as error:
        return error.code, error.message, error.param


NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=3) | st.just("m"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["model", "x"]), inner, max_size=2),
    max_leaves=4,
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "custom_id": st.text(max_size=3) | VALUES,
        "method": st.just("POST") | VALUES,
        "url": st.sampled_from(batch_lines.EVERY_URL) | VALUES,
        "body": st.just({"model": "m"}) | VALUES,
    },
)


@given(FIELDS.map(orjson.dumps) | VALUES.map(orjson.dumps) | st.binary(max_size=20))
@example(b"\xef\xbb\xbf" + line())
@example(line().decode().encode("utf-16"))
@example(line().replace(b'"m"', b'"\xff"'))
@example(line()[:-1])
@example(line(body={"model": "m", "x": 1}).replace(b"1", b"[" * 300 + b"]" * 300))
@example(line(body={"model": "m", "x": 1}).replace(b"1", b"[" * 2000 + b"]" * 2000))
@example(line(body={"model": "m", "x": [[]] * 300}))
@example(line().replace(b'"m"', b"NaN"))
@example(line().replace(b'"a"', b'"\\ud800"'))
@example(line() + b"\r")
@example(line() + line())
@example(b"[]")
@example(b"")
def test_both_ways_come_to_the_same(text: bytes) -> None:
    assert outcome(reader(CHAT), text) == outcome(lambda given: batch_lines._exact(given, CHAT), text)


@pytest.mark.parametrize(
    ("changes", "message", "param"),
    [
        ({"custom_id": ...}, "custom_id is missing", "custom_id"),
        ({"custom_id": ""}, "custom_id must not be empty", "custom_id"),
        ({"custom_id": 7}, "custom_id must be a string", "custom_id"),
        ({"method": ...}, "method is missing", "method"),
        ({"method": "GET"}, "method must be POST", "method"),
        ({"url": ...}, "url is missing", "url"),
        (
            {"url": "/v1/images"},
            "url must be one of /v1/chat/completions, /v1/responses, /v1/completions, /v1/embeddings, /v1/systemone",
            "url",
        ),
        ({"url": ["/v1/embeddings"]}, "url must be one of", "url"),
        ({"body": ...}, "body is missing", "body"),
        ({"body": []}, "body must be an object", "body"),
        ({"body": {}}, "body.model is missing", "body.model"),
        ({"body": {"model": 1}}, "body.model must be a string", "body.model"),
    ],
)
def test_first_line_and_later_ones_say_what_is_wrong(changes: Any, message: str, param: str) -> None:
    for read in (target_of, reader(CHAT)):
        with pytest.raises(RowError, match=message) as caught:
            read(line(**changes))
        assert caught.value.param == param


def test_first_line_names_the_target_and_the_others_keep_to_it() -> None:
    assert target_of(line()) == CHAT
    with pytest.raises(RowError, match="url is /v1/embeddings, but the first line names /v1/chat/completions"):
        reader(CHAT)(line(url="/v1/embeddings"))
    with pytest.raises(RowError, match=r"body.model is 'n', but the first line names 'm'"):
        reader(CHAT)(line(body={"model": "n"}))
    with pytest.raises(RowError, match=r"unknown model 'x{64}…'$"):
        target_of(line(body={"model": "x" * 100_000}))
    with pytest.raises(RowError, match=r"body.model must not be empty"):
        target_of(line(body={"model": ""}))


def test_what_a_request_asks_is_not_read_here() -> None:
    assert reader(CHAT)(line(custom_id="é☃", body={"model": "m", "messages": "nonsense", "n": 5})) == "é☃"
