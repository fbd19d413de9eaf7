"""References to what was answered before: left out where the rest of the request tells it, else refused (004)."""

from typing import Any

import pytest

from inference.refusals import RowError
from inference.requests.responses import translate

ASKED = {"role": "user", "content": "hi"}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
TOLD = {"type": "function_call_output", "call_id": "c", "output": "4"}
CUSTOM = {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x"}
CUSTOM_TOLD = {"type": "custom_tool_call_output", "call_id": "c", "output": "4"}


def to(name: str) -> dict[str, Any]:
    return {"type": "item_reference", "id": name}


@pytest.mark.parametrize(
    "items",
    [
        [ASKED, to("rs_1"), ASKED],
        [ASKED, to("rs_1"), to("msg_1"), CALL, TOLD],
        [ASKED, to("msg_1"), to("rs_1"), CALL, TOLD, to("msg_2"), CALL, TOLD],
        [ASKED, CALL, {"id": "msg_1"}, TOLD],
        [ASKED, to("msg_1"), CUSTOM, CUSTOM_TOLD],
    ],
)
def test_thinking_and_text_beside_a_call_are_left_out(items: list[Any]) -> None:
    body = {"input": items}
    without = {"input": [item for item in items if "id" not in item]}
    assert (
        translate(body, refuses_unknown=False).body["messages"]
        == (translate(without, refuses_unknown=False).body["messages"])
    )


@pytest.mark.parametrize(
    ("items", "at"),
    [
        ([ASKED, to("msg_1"), ASKED], 1),
        ([ASKED, to("msg_1")], 1),
        ([ASKED, CALL, TOLD, to("msg_1"), ASKED], 3),
        ([ASKED, to("msg_1"), ASKED, CALL, TOLD], 1),
        ([ASKED, to("fc_1"), TOLD], 1),
        ([ASKED, to("ctc_1"), CUSTOM_TOLD], 1),
        ([ASKED, to("file_1")], 1),
        ([ASKED, {"type": "item_reference", "id": 5}], 1),
        ([ASKED, {"type": "item_reference"}], 1),
    ],
)
def test_reference_to_what_is_nowhere_else_is_refused(items: list[Any], at: int) -> None:
    with pytest.raises(RowError) as refused:
        translate({"input": items}, refuses_unknown=False)
    assert refused.value.param == f"body.input[{at}]"
