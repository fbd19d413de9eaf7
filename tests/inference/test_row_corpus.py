"""Every line of `corpus.jsonl` and its verdict: `row`, or the code and field of the refusal."""

import base64
import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from inference.catalogue import get
from inference.requests.profiles import PROFILES
from inference.requests.rows import (
    ChatRow,
    DecisionRow,
    EmbeddingRow,
    RowError,
    RowOptions,
    parse,
    upstream_body,
)

CASES = [json.loads(line) for line in (Path(__file__).parent / "corpus.jsonl").read_text().splitlines()]

ROWS = {"chat": ChatRow, "embed": EmbeddingRow, "decide": DecisionRow}
SENT = {
    "chat": {"model", "messages", "max_tokens", "temperature", "chat_template_kwargs", "response_format"},
    "openai chat": {"top_p", "seed", "stop", "thinking_token_budget"},
    "embed": {"model", "input", "encoding_format"},
    "decide": {"model", "state", "questions", "lang"},
}


@pytest.mark.parametrize("case", CASES, ids=[f"{index}-{case['why']}" for index, case in enumerate(CASES)])
def test_line_gets_its_verdict(case: dict[str, Any]) -> None:
    line = base64.b64decode(case["base64"]) if "base64" in case else case["line"].encode()
    model = get(case.get("model", "qwen3-14b"))
    assert model is not None
    options = RowOptions(**case.get("options", {}), profile=PROFILES[case.get("profile", "native")])
    if case["verdict"] == "row":
        row = parse(line, model=model, options=options)
        assert isinstance(row, ROWS[model.task])
        body = upstream_body(row, served_name="m", model=model, options=options, max_tokens=10)
        further = SENT.get(f"{options.profile.name} {model.task}", set())
        assert set(orjson.loads(body)) <= SENT[model.task] | further
        return
    with pytest.raises(RowError) as refusal:
        parse(line, model=model, options=options)
    assert (refusal.value.code, refusal.value.param) == (case["verdict"], case.get("param"))
    assert refusal.value.message
    assert len(refusal.value.message) < 400
