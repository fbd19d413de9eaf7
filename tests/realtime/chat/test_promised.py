"""What of an answer goes on where a call or a form was promised (reference 004), however it is cut into events."""

import asyncio
import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anex.core.errors import AnexError
from inference.catalogue import get
from inference.requests import call_ids, chat_request
from inference.requests.profiles import OPENAI_V1
from realtime.chat.custom_input import InputReader
from realtime.chat.forms import Form
from realtime.chat.leading_thought import LeadingThought
from realtime.chat.promised import Promised
from realtime.chat.reading import Delta
from realtime.chat.whole import Whole
from tests.realtime.chat.streams import HEAD, NAMED, TOOLS, call, chunk

CUSTOM = {"type": "custom", "custom": {"name": "c"}}
OBJECT = {"response_format": {"type": "json_object"}}
STRICT = {
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "a", "schema": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    }
}


class Heard:
    """What a client gets of an answer; `error` is its end where it broke its promise."""

    def __init__(self, promised: Promised, events: list[bytes], *, cuts: bool = False) -> None:
        self.promised = promised
        self.deltas: list[Delta] = []
        self.error: AnexError | None = None
        try:
            for event in events:
                if delta := promised.read(event):
                    self.deltas.append(delta)
            if cuts:
                promised.cut()
            self.deltas.append(asyncio.run(promised.close()))
        except AnexError as error:
            self.error = error

    @property
    def choice(self) -> dict[str, Any]:
        whole = Whole(HEAD)
        for delta in self.deltas:
            whole.add(delta)
        choice: dict[str, Any] = orjson.loads(orjson.dumps(whole.body({})))["choices"][0]
        return choice

    @property
    def refusal(self) -> tuple[int, str, str]:
        assert self.error
        return self.error.status, self.error.code, self.error.extra["charged"]

    @property
    def paid(self) -> int | None:
        """The output tokens that are paid for though the answer was refused."""
        return self.promised.owed and self.promised.owed.output_tokens


def hear(body: dict[str, Any], *deltas: dict[str, Any], finish: str | None = "stop", stream: bool = True) -> Heard:
    """The answer of a server that reports a token for each event."""
    model = get("scripted")
    assert model
    asked = {"messages": [{"role": "user", "content": "hi"}], "stream": stream, **body}
    request = chat_request.read(asked, model=model, profile=OPENAI_V1)
    events = [
        chunk(delta, usage={"prompt_tokens": 9, "completion_tokens": place})
        for place, delta in enumerate([{"role": "assistant", "content": ""}, *deltas])
    ]
    if finish:
        events.append(chunk(finish=finish, usage={"prompt_tokens": 9, "completion_tokens": len(deltas)}))
    return Heard(Promised(request), events, cuts=finish is None)


def text(*pieces: str) -> list[dict[str, Any]]:
    return [{"content": piece} for piece in pieces]


F = [call(0, id="call_abcdefg", name="f", arguments=""), call(0, '{"a":'), call(0, "1}")]
G = [call(1, id="call_hijklmn", name="g", arguments=""), call(1, "{}")]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("choice", ["required", NAMED])
def test_forced_call_comes_whole_with_the_text_before_it(choice: Any, stream: bool) -> None:
    heard = hear({"tools": TOOLS, "tool_choice": choice}, *text("I ", "call."), *F, stream=stream)
    assert [delta for delta in heard.deltas[:-1] if delta.content or delta.calls] == []
    message = heard.choice["message"]
    assert (message["content"], heard.choice["finish_reason"]) == ("I call.", "tool_calls")
    assert [made["function"] for made in message["tool_calls"]] == [{"name": "f", "arguments": '{"a":1}'}]
    assert heard.promised.usage()[0].output_tokens == 5  # type: ignore[union-attr]


def test_calls_that_were_not_asked_for_are_neither_sent_nor_charged() -> None:
    asked = {"tools": TOOLS, "tool_choice": {"type": "function", "name": "g"}}
    heard = hear(asked, *F, *G)
    (made,) = heard.choice["message"]["tool_calls"]
    assert (made["function"]["name"], heard.deltas[-1].calls[0]["index"]) == ("g", 0)
    assert heard.promised.usage()[0].output_tokens == 2  # type: ignore[union-attr]
    alone = hear(asked, *F)
    assert alone.refusal == (422, "tool_choice_unmet", "refunded")


@pytest.mark.parametrize(
    ("deltas", "finish"),
    [(text("No."), "stop"), (F[:2], "length"), (F[:2], "stop"), (F[:2], None), (text("x" * 3000, "x" * 3000), "stop")],
)
def test_forced_call_that_is_not_made_is_refused_and_refunded(deltas: list[dict[str, Any]], finish: str | None) -> None:
    heard = hear({"tools": TOOLS, "tool_choice": "required"}, *deltas, finish=finish)
    assert heard.refusal == (422, "tool_choice_unmet", "refunded")
    assert [delta for delta in heard.deltas if delta.content or delta.calls] == []


def test_whole_calls_are_kept_where_the_next_was_cut() -> None:
    heard = hear({"tools": TOOLS, "tool_choice": "required"}, *F, G[0], call(1, '{"x'), finish="length")
    assert [made["function"]["name"] for made in heard.choice["message"]["tool_calls"]] == ["f"]
    assert heard.choice["finish_reason"] == "length"


@pytest.mark.parametrize("body", [{"tools": TOOLS, "tool_choice": "required"}, OBJECT])
def test_delivered_thinking_is_paid_for_though_the_promise_is_broken(body: dict[str, Any]) -> None:
    deltas = [{"reasoning_content": "hm"}, {"reasoning_content": "hm"}, *text("No", ".")]
    heard = hear(body, *deltas)
    assert (heard.refusal[2], heard.paid) == ("stands", 2)
    assert hear(body | {"reasoning": {"exclude": True}}, *deltas).refusal[2] == "refunded"
    assert hear(body, *deltas, stream=False).refusal[2] == "refunded"


@pytest.mark.parametrize(
    "pieces",
    [
        ['{"n":', "1}"],
        ["``", "`json\n", '{"n":1}', "\n```"],
        ['\n {"n"', ":1} That is", " it."],
        ['```\n{"n":1}```'],
        ["```json {", '"n":1} ```'],
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_object_is_sent_alone(pieces: list[str], stream: bool) -> None:
    heard = hear(STRICT, *text(*pieces), stream=stream)
    assert "".join(heard.choice["message"]["content"].split()) == '{"n":1}'
    assert heard.choice["finish_reason"] == "stop"
    around = sum(piece in ("``", "`json\n", "\n```", " it.") for piece in pieces)
    assert heard.promised.usage()[0].output_tokens == len(pieces) - around  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("body", "pieces", "finish", "paid"),
    [
        (OBJECT, ["Sure."], "stop", None),
        (OBJECT, ["[1]"], "stop", None),
        (OBJECT, ['{"n":', "1"], "length", 2),
        (OBJECT, ['{"n":', "1"], None, 2),
        (STRICT, ['{"n":', '"one"}'], "stop", 2),
        (OBJECT, ["x" * 3000, "x" * 3000], "stop", None),
    ],
)
def test_form_that_is_not_kept_is_refused_and_pays_for_what_was_sent(body, pieces, finish, paid) -> None:
    heard = hear(body, *text(*pieces), finish=finish)
    assert heard.refusal == (422, "response_format_unmet", "stands" if paid else "refunded")
    assert heard.paid == paid
    assert hear(body, *text(*pieces), finish=finish, stream=False).refusal[2] == "refunded"


@pytest.mark.parametrize("finish", ["length", None])
@pytest.mark.parametrize("body", [{}, OBJECT, {"tools": TOOLS, "tool_choice": "required"}])
def test_thinking_that_leaves_no_room_for_a_word_is_refused(body: dict[str, Any], finish: str | None) -> None:
    heard = hear(body, {"reasoning_content": "hm"}, finish=finish)
    assert heard.error
    assert (heard.error.status, heard.error.code, heard.paid) == (400, "output_limit_reached", None)
    assert heard.deltas[-1].reasoning == "hm"


def test_answer_whose_time_is_over_ends_as_by_its_cap() -> None:
    heard = hear({}, *text("He", "llo"), finish=None)
    assert (heard.choice["message"]["content"], heard.choice["finish_reason"]) == ("Hello", "length")


SPLITS = st.lists(st.integers(1, 6), max_size=40)


def split(written: str, sizes: list[int]) -> list[str]:
    pieces, place = [], 0
    for size in sizes:
        pieces.append(written[place : place + size])
        place += size
    return [*pieces, written[place:]]


@given(st.text(alphabet="ab \n<>/", max_size=9), st.text(alphabet="ab \n<", max_size=9), SPLITS, st.booleans())
def test_leading_block_is_thinking_wherever_it_is_cut(thought: str, rest: str, sizes: list[int], closed: bool) -> None:
    leading = LeadingThought()
    written = f"<think>{thought}" + (f"</think>{rest}" if closed else "")
    got = [leading.feed(piece) for piece in split(written, sizes)]
    told, said = "".join(one for one, _ in got), "".join(other for _, other in got) + leading.end()
    assert (told, said) == ((thought.strip("\n"), rest.lstrip("\n")) if closed else ("", written))


@given(st.text(alphabet="a <think>\n", max_size=12).filter(lambda written: "<think>" not in written), SPLITS)
def test_text_without_the_block_is_left_as_it_is(written: str, sizes: list[int]) -> None:
    leading = LeadingThought()
    got = [leading.feed(piece) for piece in split(written, sizes)]
    assert "".join(other for _, other in got) + leading.end() == written


def test_leading_block_of_an_answer_is_its_reasoning() -> None:
    message = hear({}, *text("<thi", "nk>\nhm", "\n</think>", "\n\nYes", "."))
    assert message.choice["message"]["reasoning_content"] == "hm"
    assert message.choice["message"]["content"] == "Yes."
    assert hear({}, *text("<think>", "hm")).choice["message"]["content"] == "<think>hm"
    assert hear(OBJECT, *text("<think>hm</think>", '{"a": 1}')).choice["message"]["content"] == '{"a": 1}'


JSON = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(alphabet='a"\\{}[]`é\n', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='a"\\}', max_size=3), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), JSON), st.sampled_from(["", "\n", "```json\n"]), st.text(), SPLITS)
def test_object_is_found_wherever_it_is_cut(value: dict[str, Any], before: str, after: str, sizes: list[int]) -> None:
    form, written = Form(), orjson.dumps(value).decode()
    sent = "".join(form.feed(piece) for piece in split(before + written + after, sizes))
    assert (sent, form.content, form.is_object) == (written, written, True)


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",))), st.booleans(), SPLITS)
def test_custom_input_is_read_wherever_it_is_cut(given_text: str, ascii_only: bool, sizes: list[int]) -> None:
    encoded = json.dumps({"input": given_text}, ensure_ascii=ascii_only)
    reader = InputReader()
    assert "".join(reader.feed(piece) for piece in split(encoded, sizes)) + reader.end() == given_text


@pytest.mark.parametrize(
    ("arguments", "read"),
    [("{}", ""), ("", ""), ("SELECT 1", "SELECT 1"), ('{"a":1,"input":"b"}', "b"), ('{"input":1}', '{"input":1}'),
     ('{"input":"a', "a"), ('{"input":"\\ud83d"}', "\ufffd"), ('{"input":"\\q"}', "q")],
)  # fmt: skip
def test_custom_input_that_is_not_as_it_was_asked_for(arguments: str, read: str) -> None:
    reader = InputReader()
    assert reader.feed(arguments) + reader.end() == read


def test_custom_calls_come_as_they_were_declared() -> None:
    pieces = [call(0, id="0", name="c", arguments=""), call(0, '{"input":"SEL'), call(0, "ECT"), call(0, ' 1"}')]
    heard = hear({"tools": [CUSTOM, *TOOLS]}, *pieces, *G)
    custom, function = heard.choice["message"]["tool_calls"]
    assert custom == {"id": custom["id"], "type": "custom", "custom": {"name": "c", "input": "SELECT 1"}}
    assert function["type"] == "function"
    sent = [piece["custom"] for delta in heard.deltas for piece in delta.calls if "custom" in piece]
    assert sent == [{"name": "c", "input": "SEL"}, {"input": "ECT"}, {"input": " 1"}]
    assert call_ids.own(custom["id"]) == "0"


@pytest.mark.parametrize(
    "own", ["", "0", "functions.f:0", "a b c d e f", "é", "call_ax_", "call_abcdefghijk", "x" * 999]
)
def test_ids_come_back_as_the_models_own(own: str) -> None:
    spelt = call_ids.outward(own)
    assert (spelt is None) is (own in ("", "x" * 999))
    if spelt is not None:
        assert call_ids.own(spelt) == own
        assert 9 <= len(spelt) <= 256
        assert call_ids.own(spelt[:-1]) is not None
