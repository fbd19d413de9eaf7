"""Every line of `corpus.jsonl`, rows with pictures and clips, and its verdict: `row`, or code and field of its fault.

Lines of models that are counted here by words are counted too, so their lengths and contexts are judged as well.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest

from inference.catalogue import Model, get
from inference.media.parts import MediaPart, fetched
from inference.refusals import RowError
from inference.requests.rows import DecisionRow, Row, RowOptions, parse, upstream_body
from inference.tokens import count_rows
from tests.inference.media import clips

CASES = [json.loads(line) for line in (Path(__file__).parent / "corpus.jsonl").read_text().splitlines()]
OPTIONS = RowOptions()


def judge(line: str, model: Model) -> Row:
    row = parse(line.encode(), model=model, options=OPTIONS)
    if model.tokenizer == "words":
        (count,) = count_rows(model, [row], options=OPTIONS)
        if isinstance(count, RowError):
            raise count
    return row


def at_hand(part: MediaPart) -> MediaPart:
    return part if part.data else fetched(part, clips.picture("png"), format=part.format or "png")


@pytest.mark.parametrize("case", CASES, ids=[f"{index}-{case['why']}" for index, case in enumerate(CASES)])
def test_line_gets_its_verdict(case: dict[str, Any]) -> None:
    model = get(case["model"])
    assert model is not None
    if case["verdict"] != "row":
        with pytest.raises(RowError) as refusal:
            judge(case["line"], model)
        assert (refusal.value.code, refusal.value.param) == (case["verdict"], case.get("param"))
        assert len(refusal.value.message) < 400
        return
    row = judge(case["line"], model)
    assert not isinstance(row, DecisionRow)
    row = msgspec.structs.replace(row, media=tuple(map(at_hand, row.media)))
    sent = orjson.loads(upstream_body(row, served_name="m", model=model, options=OPTIONS, max_tokens=10))
    body = json.loads(case["line"])["body"]
    given = body["messages"][0]["content"] if "messages" in body else body["input"]
    if row.media:
        kinds = [part["type"] for part in sent["messages"][0]["content"]]
        assert kinds == [part["type"] for part in given]
        assert b"https:" not in orjson.dumps(sent["messages"])
    else:
        assert sent["input"] == "".join(part["text"] for part in given)
