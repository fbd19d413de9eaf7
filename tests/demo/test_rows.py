"""The demo's input: real text of this machine, in the reference's format."""

import json

from anex.demo.rows import chats, decisions, embeddings, installed


def test_there_are_enough_rows_of_real_text() -> None:
    rows = installed()
    assert len(rows) >= 24
    assert len({row.custom_id for row in rows}) == len(rows)
    assert all(row.text.startswith(f"{row.custom_id}: ") and len(row.text) < 1000 for row in rows)


def test_every_line_is_a_chat_request_named_by_its_package() -> None:
    rows = installed()
    lines = [json.loads(line) for line in chats(rows).splitlines()]
    assert [line["custom_id"] for line in lines] == [row.custom_id for row in rows]
    for line in lines:
        assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
        (message,) = line["body"]["messages"]
        assert message["role"] == "user"
        assert line["custom_id"] in message["content"]


def test_the_same_rows_are_embedding_and_decision_requests() -> None:
    rows = installed()
    for content, url, field in (
        (embeddings(rows), "/v1/embeddings", "input"),
        (decisions(rows), "/v1/systemone", "state"),
    ):
        lines = [json.loads(line) for line in content.splitlines()]
        assert [line["custom_id"] for line in lines] == [row.custom_id for row in rows]
        assert {line["url"] for line in lines} == {url}
        assert all(row.text.startswith(line["body"][field]) for line, row in zip(lines, rows, strict=True))
