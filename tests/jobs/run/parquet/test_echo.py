"""The columns of an input come back in the result as they were, whatever their type, beside those of the answer."""

import datetime
import decimal
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from jobs.run.parquet import answers
from tests.jobs.run.parquet.files import converted, joined, packed, rows, unpacked

COUNT = 6
UTC = datetime.UTC
COLUMNS: dict[str, pa.Array] = {
    "int8": pa.array([1, -128, None, 3, 4, 5], pa.int8()),
    "uint64": pa.array([2**64 - 1, 0, None, 3, 4, 5], pa.uint64()),
    "float": pa.array([1.5, float("nan"), float("inf"), None, -0.0, 5e-324], pa.float64()),
    "half": pa.array(np.arange(COUNT, dtype=np.float16)),
    "bool": pa.array([True, None, False] * 2),
    "null": pa.nulls(COUNT),
    "zoned": pa.array([datetime.datetime(2026, 1, 1, tzinfo=UTC), None] * 3, pa.timestamp("us", "Europe/Berlin")),
    "nano": pa.array([1, None, 3, 4, 5, 2**62], pa.timestamp("ns")),
    "date": pa.array([datetime.date(1500, 1, 1), None] * 3),
    "time": pa.array([datetime.time(1, 2, 3, 4), None] * 3, pa.time64("us")),
    "duration": pa.array([1, None, 3, 4, 5, 6], pa.duration("ms")),
    "decimal": pa.array([decimal.Decimal("1.10"), None] * 3, pa.decimal128(38, 2)),
    "wide": pa.array([decimal.Decimal(10) ** 60, None] * 3, pa.decimal256(70, 0)),
    "bytes": pa.array([b"\x00\xff", None, b""] * 2),
    "fixed": pa.array([b"abcd", None] * 3, pa.binary(4)),
    "large": pa.array(["é\0", None, ""] * 2, pa.large_string()),
    "labels": pa.array(["a", "b", None] * 2).dictionary_encode(),
    "lists": pa.array([[1, None], None, []] * 2, pa.list_(pa.int32())),
    "vectors": pa.array([[1.0, 2.0]] * COUNT, pa.list_(pa.float32(), 2)),
    "structs": pa.array([{"a": [{"b": "x"}], "c": None}, None, {"a": [], "c": 1.0}] * 2),
    "map": pa.array([[("k", 1)], None, []] * 2, pa.map_(pa.string(), pa.int64())),
    "Ünïcode . name": pa.array(range(COUNT)),
}


def line(row: int, body: dict[str, Any] | None, error: str | None = None) -> tuple[int, bytes]:
    response = None if body is None else {"status_code": 200, "body": body}
    kind = error and "upstream_error"
    return row, json.dumps(
        {"custom_id": "x", "response": response, "error": error, "error_type": kind}
    ).encode() + b"\n"


def chat_answer(text: str | None, **message: Any) -> dict[str, Any]:
    choice = {"message": {"content": text, **message}, "finish_reason": "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}


def test_every_type_keeps_its_values_in_a_result_and_in_a_retry() -> None:
    table = rows(COUNT, **COLUMNS)
    data = packed(table, row_group_size=4)
    assert converted(data).count(b"\n") == COUNT
    stored = joined(data, [(row, b"\n") for row in range(COUNT)], task=None)
    assert stored.schema.names == table.schema.names
    result = joined(data, [line(row, chat_answer(f"answer {row}")) for row in range(COUNT)])
    assert result.schema.names == ["custom_id", *COLUMNS, *answers.COLUMNS["chat"].names]
    original = unpacked(data)
    for name, column in COLUMNS.items():
        for copy in (stored, result):
            assert copy.schema.field(name).type == column.type, name
            assert str(copy.column(name).combine_chunks()) == str(original.column(name).combine_chunks()), name
    assert result.column("output").to_pylist() == [f"answer {row}" for row in range(COUNT)]


def test_only_finished_rows_are_there_each_beside_its_own_columns() -> None:
    data = packed(rows(5000, place=list(range(5000))), row_group_size=700)
    wanted = [0, 699, 700, 1023, 1024, 3000, 4999]
    result = joined(data, [line(row, chat_answer(str(row))) for row in wanted])
    assert result.column("place").to_pylist() == wanted
    assert result.column("custom_id").to_pylist() == [f"row-{row}" for row in wanted]
    assert result.column("output").to_pylist() == [str(row) for row in wanted]


def test_answers_of_chat_rows() -> None:
    thought = chat_answer("text", reasoning_content="hm")
    broken = {"choices": [{"message": {"content": ["?"]}, "finish_reason": 3}], "usage": {"prompt_tokens": "many"}}
    given = [line(0, thought), line(1, None, "no"), line(2, broken), line(3, chat_answer(None), "not JSON")]
    found = joined(packed(rows(4)), given).drop_columns("custom_id").to_pylist()
    nothing = dict.fromkeys(answers.COLUMNS["chat"].names)
    good = {"finish_reason": "stop", "status_code": 200, "input_tokens": 7, "output_tokens": 2}
    assert found == [
        nothing | good | {"output": "text", "reasoning": "hm"},
        nothing | {"error": "no", "error_type": "upstream_error"},
        nothing | {"status_code": 200},
        nothing | good | {"error": "not JSON", "error_type": "upstream_error"},
    ]


def test_answers_of_embedding_rows() -> None:
    body = {"data": [{"embedding": [0.5, -1, 1e-3]}], "usage": {"prompt_tokens": 7}}
    result = joined(packed(rows(2)), [line(0, body), line(1, None, "no")], task="embed")
    assert result.schema.names == ["custom_id", "embedding", "status_code", "error", "error_type", "input_tokens"]
    assert result.schema.field("embedding").type == pa.list_(pa.float32())
    assert result.column("embedding").to_pylist() == [pytest.approx([0.5, -1, 1e-3]), None]
    assert result.column("input_tokens").to_pylist() == [7, None]
