"""Log probabilities match the text token for token (reference 000, chat completions)."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.realtime.chat.streams import both, chunk, request

EOS = "<end_of_turn>"


def tokens(*events: bytes, **asked: Any) -> tuple[str, list[str]]:
    choice = both(request(logprobs=True, **asked), *events)
    return choice["message"]["content"], [entry["token"] for entry in choice["logprobs"]["content"]]


def test_the_token_that_ends_the_turn_is_left_out() -> None:
    end = chunk({"content": ""}, finish="stop", tokens=[EOS])
    assert tokens(chunk({"content": "Hel"}, tokens=["Hel"]), chunk({"content": "lo"}, tokens=["lo"]), end) == (
        "Hello",
        ["Hel", "lo"],
    )
    assert tokens(chunk({"content": "Hello"}, finish="stop", tokens=["Hel", "lo", EOS])) == ("Hello", ["Hel", "lo"])


def test_no_token_is_lost_where_the_cap_ended_the_answer_or_the_server_names_no_end() -> None:
    assert tokens(chunk({"content": "a"}, tokens=["a"]), chunk({"content": "b"}, finish="length", tokens=["b"])) == (
        "ab",
        ["a", "b"],
    )
    assert tokens(chunk({"content": "a"}, tokens=["a"]), chunk(finish="stop"), stop="zz") == ("a", ["a"])


@pytest.mark.parametrize(
    ("first", "kept"), [("a", ["a"]), ("\na", ["\n", "a"])], ids=["which the answer drops", "which the answer has"]
)
def test_a_newline_before_the_answer(first: str, kept: list[str]) -> None:
    events = [chunk({"content": ""}, tokens=["\n"]), chunk({"content": first}, tokens=["a"])]
    assert tokens(*events, chunk(finish="stop", tokens=[EOS])) == (first, kept)


def test_thinking_is_covered_with_its_markers() -> None:
    events = [
        chunk({"content": ""}, tokens=["<think>"]),
        chunk({"reasoning": "\nhm"}, tokens=["\n", "hm"]),
        chunk({"content": ""}, tokens=["</think>"]),
        chunk({"content": "yes"}, tokens=["yes"]),
        chunk({}, finish="stop", tokens=[EOS]),
    ]
    assert tokens(*events, reasoning={"enabled": True}) == ("yes", ["<think>", "\n", "hm", "</think>", "yes"])


@pytest.mark.parametrize(
    ("last", "content", "kept"),
    [
        (["lo", " EN", "D"], "Hello ", ["Hel", "lo", " EN"]),
        (["lo", "END"], "Hello", ["Hel", "lo"]),
        (["loE", "N", "D!"], "Hello", ["Hel", "loE"]),
    ],
)
def test_tokens_of_a_stop_string_are_left_out(last: list[str], content: str, kept: list[str]) -> None:
    events = [chunk({"content": "Hel"}, tokens=["Hel"])]
    events += [chunk({"content": ""}, tokens=[token]) for token in last[:-1]]
    events.append(chunk({"content": content[3:]}, finish="stop", tokens=last[-1:], stop_reason="END"))
    assert tokens(*events, stop=["END", "longer stop"]) == (content, kept)


@pytest.mark.parametrize("asked", [0, 1, 3])
def test_there_are_as_many_alternatives_as_were_asked_for(asked: int) -> None:
    entry = {"token": "a", "logprob": 0.0, "top_logprobs": [{"token": "a"}, {"token": "b"}]}
    choice = {"delta": {"content": "a"}, "logprobs": {"content": [entry]}, "finish_reason": "length"}
    found = both(request(logprobs=True, top_logprobs=asked), orjson.dumps({"choices": [choice]}))
    assert len(found["logprobs"]["content"][0]["top_logprobs"]) == min(asked, 2)


def test_a_part_of_a_character_counts_as_text() -> None:
    events = [chunk({"content": ""}, tokens=["\ufffd"]), chunk({"content": "é"}, finish="stop", tokens=["\ufffd"])]
    assert tokens(*events) == ("é", ["\ufffd", "\ufffd"])


@given(st.lists(st.text("ab \n", min_size=1, max_size=3), min_size=1, max_size=10), st.booleans(), st.booleans())
def test_tokens_join_to_the_text(words: list[str], stops: bool, ends_in_last: bool) -> None:
    events = [chunk({"content": word}, tokens=[word]) for word in words]
    end = chunk({"content": ""}, finish="stop", tokens=[EOS])
    if ends_in_last:
        events.pop()
        end = chunk({"content": words[-1]}, finish="stop", tokens=[words[-1], EOS])
    content, kept = tokens(*events, end, **({"stop": ["never", "x"]} if stops else {}))
    assert content == "".join(words) == "".join(kept)
