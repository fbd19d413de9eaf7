"""Parquet files of customers, and what the child makes of them."""

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.run.parquet import process
from jobs.run.parquet.process import Unreadable
from jobs.run.problems import Problem

PATHS = {"chat": "/v1/chat/completions", "embed": "/v1/embeddings"}


def rows(count: int, **columns: Any) -> pa.Table:
    """A file's rows with ids and texts, and columns beside them."""
    named = {"custom_id": [f"row-{row}" for row in range(count)], "input": [f"say {row}" for row in range(count)]}
    return pa.table(named | columns)


def packed(table: pa.Table, **options: Any) -> bytes:
    """A table as a parquet file."""
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def unpacked(data: bytes) -> pa.Table:
    return pq.read_table(io.BytesIO(data))


@contextmanager
def opened(data: bytes) -> Iterator[IO[bytes]]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "file")
        path.write_bytes(data)
        with path.open("rb") as file:
            yield file


def converted(data: bytes, *, task: str = "chat") -> bytes:
    """The rows of a file as JSON Lines."""
    out: list[bytes] = []
    with opened(data) as file:
        process.convert(file, task=task, url=PATHS[task], size=len(data), write=out.append, go_on=lambda: True)
    return b"".join(out)


def joined(data: bytes, wanted: Iterable[tuple[int, bytes]], *, task: str | None = "chat") -> pa.Table:
    """The wanted rows of a file with their answers."""
    out: list[bytes] = []
    with opened(data) as file:
        process.join(file, wanted, task=task, write=out.append, go_on=lambda: True)
    return unpacked(b"".join(out))


def refused(data: bytes, *, task: str = "chat") -> list[Problem]:
    """Why a file is not taken; nothing where it is."""
    try:
        converted(data, task=task)
    except Unreadable as unreadable:
        return unreadable.problems
    return []
