"""The lines of a batch's files, told from native result lines."""

import json
import uuid
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from anex.core.usage import Usage
from jobs.run import batch_lines, outcomes
from jobs.run.scope import MAX_ROWS

JOB = uuid.UUID(int=7)
ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ids, inner, max_size=3),
    max_leaves=6,
)


@given(custom_id=ids, body=st.dictionaries(ids, json_values, max_size=3), error=st.none() | ids)
def test_an_answer_is_passed_on_whole(custom_id: str, body: dict[str, Any], error: str | None) -> None:
    count: Any = "format_error" if error else "success"
    native = outcomes.answered(0, custom_id, body, count=count, usage=Usage(), cost_nano=0, error=error)
    line = batch_lines.finished(JOB, 300, native.line)
    assert line.text.count(b"\n") == 1
    assert line.failed == (error is not None)
    request_id = f"{JOB.hex}00012c"
    assert json.loads(line.text) == {
        "id": f"batch_req_{request_id}",
        "custom_id": custom_id,
        "response": {"status_code": 422 if error else 200, "request_id": request_id, "body": body},
        "error": error and {"code": "response_format_unmet", "message": error},
    }


def test_a_refused_question_keeps_its_status() -> None:
    response = {"status_code": 400, "body": {"error": {"message": "no", "type": "invalid_request_error"}}}
    native = outcomes.refused(0, "q", "no", "invalid_request_error", count="format_error", response=response)
    line = batch_lines.finished(JOB, 0, native.line)
    told = orjson.loads(line.text)
    assert (line.failed, told["response"]["status_code"], told["response"]["body"]) == (True, 400, response["body"])
    assert told["error"] == {"code": "invalid_request_error", "message": "no"}


@given(ids, st.sampled_from(["cancelled", "expired", "internal_error"]))
def test_what_was_not_run_is_named(custom_id: str, stop_reason: str) -> None:
    line = batch_lines.not_run(JOB, 9_999_999, custom_id, stop_reason=stop_reason)
    told = orjson.loads(line.text)
    assert (line.failed, told["custom_id"], told["response"]) == (True, custom_id, None)
    assert told["error"]["code"] == {"internal_error": "batch_failed"}.get(stop_reason, f"batch_{stop_reason}")


def test_requests_of_the_largest_file_have_ids_of_one_length() -> None:
    lines = (batch_lines.not_run(JOB, row, "x", stop_reason="expired").text for row in (0, MAX_ROWS - 1))
    assert len({len(line) for line in lines}) == 1
