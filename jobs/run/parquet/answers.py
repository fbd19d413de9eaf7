"""What a result line comes to in the columns of a parquet result; documented in docs/decisions/parquet.md."""

from typing import Any

import numpy as np
import orjson
import pyarrow as pa

_HEAD = [("status_code", pa.int32()), ("error", pa.string()), ("error_type", pa.string()), ("input_tokens", pa.int64())]
COLUMNS: dict[str, pa.Schema] = {
    "chat": pa.schema(
        [
            ("output", pa.string()),
            ("reasoning", pa.string()),
            ("finish_reason", pa.string()),
            *_HEAD,
            ("output_tokens", pa.int64()),
        ]
    ),
    "embed": pa.schema([("embedding", pa.list_(pa.float32())), *_HEAD]),
}


class Answers:
    """The columns of the answers to a few rows; what a row has none of is null."""

    def __init__(self, task: str) -> None:
        self._schema = COLUMNS[task]
        self._columns: dict[str, list[Any]] = {name: [] for name in self._schema.names}

    def add(self, line: bytes) -> None:
        """Take the next row's result line."""
        found = _found(orjson.loads(line))
        for name, column in self._columns.items():
            column.append(found.get(name))

    def arrays(self) -> list[pa.Array]:
        """The columns, in the order of `COLUMNS`."""
        return [pa.array(self._columns[field.name], field.type) for field in self._schema]


def _found(line: dict[str, Any]) -> dict[str, Any]:
    response = _dict(line.get("response"))
    body = _dict(response.get("body"))
    choice, usage = _first(body.get("choices")), _dict(body.get("usage"))
    message = _dict(choice.get("message"))
    vector = _first(body.get("data")).get("embedding")
    return {
        "output": _text(message.get("content")),
        "reasoning": _text(message.get("reasoning_content")) or _text(message.get("reasoning")),
        "finish_reason": _text(choice.get("finish_reason")),
        "embedding": np.array(vector, dtype=np.float32) if isinstance(vector, list) else None,
        "status_code": _count(response.get("status_code")),
        "error": _text(line.get("error")),
        "error_type": _text(line.get("error_type")),
        "input_tokens": _count(usage.get("prompt_tokens")),
        "output_tokens": _count(usage.get("completion_tokens")),
    }


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _first(value: object) -> dict[str, Any]:
    return _dict(value[0]) if isinstance(value, list) and value else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: object) -> int | None:
    """A number that fits its column; a model server may say anything."""
    return value if type(value) is int and 0 <= value < 2**31 else None
