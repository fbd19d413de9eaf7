"""The fast way to read a line comes to exactly what the exact way does: row, what is sent for it, or refusal."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from inference.catalogue import get
from inference.catalogue.schema import Model
from inference.requests import rows, typed
from inference.requests.options import RowOptions
from inference.requests.profiles import OPENAI, PROFILES

CASES = [json.loads(line) for line in (Path(__file__).parent / "corpus.jsonl").read_text().splitlines()]
OPTIONS = {
    "qwen3-14b": RowOptions(),
    "qwen3.8-27b": RowOptions(temperature=0.5, reasoning=True, response_format={"type": "json_object"}),
    "scripted": RowOptions(reasoning_budget=100),
    "scripted-embed": RowOptions(dimensions=64),
    "scripted-decide": RowOptions(),
}


def model_named(model_id: str) -> Model:
    model = get(model_id)
    assert model is not None
    return model


def outcome(read: typed.Reader, line: bytes, model: Model, options: RowOptions) -> Any:
    """Everything a caller can see of a row: its fields, their types and order, and the bytes that are sent."""
    try:
        row = read(line)
    except rows.RowError as error:
        return error.code, error.message, error.param
    return repr(row), rows.upstream_body(row, served_name="m", model=model, options=options, max_tokens=10)


def compare(line: bytes, model_id: str, options: RowOptions) -> None:
    model = model_named(model_id)
    read = typed.reader(model, options)

    def exact(text: bytes) -> rows.Row:
        return rows.parse(text, model=model, options=options)

    wanted = outcome(exact, line, model, options)
    assert outcome(read, line, model, options) == wanted
    assert outcome(read, line, model, options) == wanted  # and again, where settings are remembered


@pytest.mark.parametrize("case", CASES, ids=[f"{index}-{case['why']}" for index, case in enumerate(CASES)])
def test_line_of_the_corpus_comes_to_the_same(case: dict[str, Any]) -> None:
    line = base64.b64decode(case["base64"]) if "base64" in case else case["line"].encode()
    profile = PROFILES[case.get("profile", "native")]
    compare(line, case.get("model", "qwen3-14b"), RowOptions(profile=profile, **case.get("options", {})))


NUMBERS = [b"0", b"-0", b"1", b"1.0", b"2", b"2.5", b"-1", b"1e0", b"1E400", b"01", b"1.", b"NaN", b"Infinity"]
NUMBERS += [b"-0.0", b"1e-320", b"0.1000000000000000055511151231257827", b"18446744073709551616", b"true"]
NUMBERS += [b"9" * 30, b"9" * 400]
STRINGS = [b'"a"', b'""', b'"\\u00fc"', b'"\xc3\xbc"', b'"\xff"', b'"\\ud800"', b'"\\ud83d\\ude00"', b'"\\udc00x"']
STRINGS += [b'"\\q"', b'"\x00"', b'"\\u0000"', b'"\xed\xa0\x80"', b'"\xef\xbb\xbf"', b'"\\/"', b'"\x7f"', b'"\t"']
STRINGS += [b'"user"', b'"float"']
OTHERS = [b"null", b"{}", b"[]", b"[" * 300 + b"]" * 300, b'{"a":' * 248 + b"1" + b"}" * 248, b'{"a":1,"a":2}', b"x"]
ODD = NUMBERS + STRINGS + OTHERS
SPACE = st.sampled_from([b""] * 12 + [b" ", b"\r", b"\t", b"\x0b", b"\xc2\xa0"])


def objects(fields: dict[bytes, st.SearchStrategy[bytes]]) -> st.SearchStrategy[bytes]:
    """JSON objects of raw members, in any order, some twice, some escaped."""
    members = st.one_of(*(st.tuples(st.just(name), value) for name, value in fields.items()))
    usual = st.tuples(*(st.tuples(st.just(name), value) for name, value in fields.items() if name in USUAL)).map(list)
    listed = st.tuples(usual, st.lists(members, max_size=2), st.randoms(use_true_random=False)).map(_shuffled)
    return st.tuples(listed, SPACE).map(
        lambda drawn: b"{" + b",".join(b'"' + n + b'":' + drawn[1] + v for n, v in drawn[0]) + b"}"
    )


def _shuffled(drawn: Any) -> list[tuple[bytes, bytes]]:
    usual, more, dice = drawn
    members: list[tuple[bytes, bytes]] = [*usual, *more]
    if more:
        dice.shuffle(members)
    return members


def mostly(*values: bytes) -> st.SearchStrategy[bytes]:
    return st.sampled_from([*values * (40 * len(ODD) // len(values)), *ODD])


USUAL = {b"custom_id", b"method", b"url", b"body", b"messages", b"input", b"role", b"content"}
ROLES = mostly(b'"user"', b'"system"', b'"us\\u0065r"', b'"tool"', b'"assistant"')
TEXTS = mostly(b'"text"', b'"\\u00fc\\n"', b'"\xc3\xbc"', b'"\\ud83d\\ude00"', b'"\\u0000"', b'"\xf0\x9f\x98\x80"')
MESSAGE = st.one_of(
    st.tuples(ROLES, TEXTS).map(lambda drawn: b'{"role":%b,"content":%b}' % drawn),
    st.tuples(ROLES, TEXTS).map(lambda drawn: b'{"content":%b,"role":%b}' % drawn[::-1]),
    objects({b"role": ROLES, b"content": TEXTS, b"name": TEXTS, b"r\\u006fle": ROLES}),
)
FORMAT = st.sampled_from(
    [
        b'{"type":"json_object"}',
        b'{"type":"text"}',
        b'{"type":"json_schema","json_schema":{"schema":{"type":"object"}}}',
        b'{"type":"json_schema","json_schema":{"schema":{"maximum":' + b"9" * 25 + b"}}}",
    ]
)
THINKING = objects(
    {b"enable_thinking": mostly(b"true", b"false", b"null"), b"reasoning_effort": mostly(b'"low"', b"null")}
)
BODY = {
    b"messages": st.lists(MESSAGE, min_size=1, max_size=2).map(lambda found: b"[" + b",".join(found) + b"]"),
    b"input": TEXTS,
    b"temperature": mostly(b"1", b"1.0", b"-0", b"0", b"1e0"),
    b"stream": mostly(b"true", b"false", b"null", b"0"),
    b"chat_template_kwargs": THINKING,
    b"response_format": FORMAT,
    b"dimensions": mostly(b"64", b"64.0", b"384", b"31"),
    b"encoding_format": mostly(b'"float"'),
    b"model": mostly(b'"qwen3-14b"', b'"qwen3.8-27b"', b'"scripted"'),
    b"seed": mostly(b"1", b"7"),
    b"n": mostly(b"1", b"1.0"),
    b"max_completion_tokens": mostly(b"1", b"64.0", b"64", b"5000"),
    b"max_tokens": mostly(b"1", b"1.0", b"-0", b"0", b"1e0"),
    b"top_p": mostly(b"1", b"1.0", b"-0", b"0", b"1e0"),
    b"user": TEXTS,
    b"stream_options": mostly(b"null", b"[{}]"),
}


def line_of(model_id: str) -> st.SearchStrategy[bytes]:
    embeds = model_id == "scripted-embed"
    body = {name: value for name, value in BODY.items() if name != (b"messages" if embeds else b"input")}
    url = b'"/v1/embeddings"' if embeds else b'"/v1/chat/completions"'
    fields = {
        b"custom_id": mostly(b'"r"'),
        b"method": mostly(b'"POST"'),
        b"url": mostly(url),
        b"extra": mostly(b"null"),
    }
    return st.tuples(SPACE, objects({**fields, b"body": objects(body)}), SPACE).map(b"".join)


LINES = st.sampled_from(list(OPTIONS)).flatmap(lambda model_id: st.tuples(st.just(model_id), line_of(model_id)))
CHAT = (
    b'{"custom_id":"r","method":"POST","url":"/v1/chat/completions","body":{"messages":[{"role":"user","content":"x"}]'
)


@given(LINES)
@example(("scripted", CHAT + b',"temperature":1.0}}\r'))
@example(("scripted", CHAT + b',"temperature":-0}}'))
@example(("qwen3.8-27b", CHAT + b',"chat_template_kwargs":' + b'{"a":' * 250 + b"1" + b"}" * 250 + b"}}"))
@example(("qwen3.8-27b", CHAT + b',"chat_template_kwargs":' + b'{"a":' * 251 + b"1" + b"}" * 251 + b"}}"))
@example(("qwen3-14b", CHAT + b',"response_format":{"type":"text"},"response_format":{"\\q":1}}}'))
@example(("qwen3-14b", CHAT + b"}} " + CHAT + b"}}"))
@settings(max_examples=300, deadline=None)
def test_any_line_comes_to_the_same(drawn: tuple[str, bytes]) -> None:
    model_id, line = drawn
    compare(line, model_id, OPTIONS[model_id])
    compare(line, model_id, RowOptions(profile=OPENAI))


def test_common_lines_take_the_fast_way(monkeypatch: pytest.MonkeyPatch) -> None:
    own = b',"temperature":0.5,"chat_template_kwargs":{"enable_thinking":false},"model":"m","max_tokens":5}}'
    embed = b'{"custom_id":"r","method":"POST","url":"/v1/embeddings","body":{"input":"x","model":"m"}}'
    readers = {model_id: typed.reader(model_named(model_id), OPTIONS[model_id]) for model_id in OPTIONS}
    readers["qwen3-14b"](CHAT + own)
    monkeypatch.setattr(rows, "open_line", None)
    assert readers["qwen3-14b"](CHAT + b"}}").custom_id == "r"
    assert readers["qwen3-14b"](CHAT + own).custom_id == "r"
    assert readers["scripted-embed"](embed).custom_id == "r"
