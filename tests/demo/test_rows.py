"""The demo's input: real text of this machine, in the reference's format."""

import json

from anex.demo.rows import installed, jsonl


def test_there_are_enough_rows_of_real_text() -> None:
    rows = installed()
    assert len(rows) >= 24
    assert len({row.custom_id for row in rows}) == len(rows)
    assert all(row.text.startswith(f"{row.custom_id}: ") and len(row.text) < 1000 for row in rows)


def test_every_line_is_a_chat_request_named_by_its_package() -> None:
    rows = installed()
    lines = [json.loads(line) for line in jsonl(rows).splitlines()]
    assert [line["custom_id"] for line in lines] == [row.custom_id for row in rows]
    for line in lines:
        assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
        (message,) = line["body"]["messages"]
        assert message["role"] == "user"
        assert line["custom_id"] in message["content"]
