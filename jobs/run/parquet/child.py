"""The child process that reads and writes parquet files (see `process`): libraries in C++ on what a stranger made.

It inherits the customer's file, opened; it can open no other file and no connection, and ends where it takes too much
processor time or memory. It imports no Django and knows no store.
"""

import os
import resource
import signal
from collections.abc import Iterator
from typing import Any

# One allocator that gives back what is free: the limit on memory is on addresses.
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"

import orjson
import pyarrow as pa
import pyarrow.compute  # loaded late otherwise, when no file can be opened any more
import pyarrow.parquet as pq

from jobs.run.parquet import pipes, reading
from jobs.run.parquet.answers import COLUMNS, Answers
from jobs.run.parquet.reading import Problem, Refused

# Between two frames; a batch takes a hundredth of a second.
STEP_PROCESSOR_S = 30
MEMORY_BYTES = 3 << 30
GROUP_ROWS, GROUP_BYTES = 100_000, 32 << 20


def main() -> None:
    """Answer one question, then end."""
    _confine()
    _begin_step()
    question = orjson.loads(pipes.receive())
    try:
        parquet = reading.open_file(question["file"])
        rows = _convert(parquet, question) if question["asked"] == "convert" else _join(parquet, question)
        answer: dict[str, Any] = {"rows": rows, "problems": []}
    except Refused as refused:
        answer = {"rows": 0, "problems": refused.problems}
    except MemoryError:
        answer = _unreadable("file_too_costly", "The file takes more memory to read than a file may ask for.")
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = str(error).partition("\n")[0][:200].rstrip(".")
        answer = _unreadable("unreadable_file", f"The file cannot be read as parquet: {reason}.")
    pipes.send(pipes.DONE, orjson.dumps(answer))


def _unreadable(code: str, message: str) -> dict[str, Any]:
    return {"rows": 0, "problems": [(code, 0, message, None)]}


def _convert(parquet: pq.ParquetFile, question: dict[str, Any]) -> int:
    """Write each row as a line of JSON. All columns are read, so that what cannot be echoed is found now."""
    resource.setrlimit(resource.RLIMIT_CPU, (question["processor_s"], question["processor_s"] + 5))
    reading.check_columns(parquet.schema_arrow, task=question["task"])
    if parquet.metadata.num_rows > question["max_rows"]:
        raise Refused(("too_many_rows", 0, f"The input has more than {question['max_rows']:,} rows.", None))
    sink, problems, rows = pipes.Sink(), list[Problem](), 0
    for first_row, batch in reading.batches(parquet):
        if not first_row and batch.num_rows:
            reading.check_echo(batch)
        found: list[Problem] = []
        ids, inputs = (reading.texts(batch, name, first_row, found) for name in (reading.CUSTOM_ID, reading.INPUT))
        problems += sorted(found, key=lambda problem: problem[1])
        if len(problems) >= reading.MAX_PROBLEMS:
            break
        if not problems:
            sink.write(b"".join(_lines(ids, inputs, question)))
        if sink.size > question["max_bytes"]:
            message = f"Written as JSON Lines, the rows take up more than the {question['max_bytes']:,} bytes allowed."
            raise Refused(("file_too_large", 0, message, None))
        rows += batch.num_rows
        _begin_step()
    if problems:
        raise Refused(*problems[: reading.MAX_PROBLEMS])
    if rows != parquet.metadata.num_rows:
        raise ValueError(f"its footer states {parquet.metadata.num_rows:,} rows, and {rows:,} are there")
    return rows


def _lines(ids: list[str], inputs: list[str], question: dict[str, Any]) -> Iterator[bytes]:
    chat = question["task"] == "chat"
    for custom_id, text in zip(ids, inputs, strict=True):
        body = {"messages": [{"role": "user", "content": text}]} if chat else {"input": text}
        line = {"custom_id": custom_id, "method": "POST", "url": question["url"], "body": body}
        yield orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def _join(parquet: pq.ParquetFile, question: dict[str, Any]) -> int:
    """Write the rows that are wanted as a parquet file: as they are or, for a task, with their answers beside them."""
    task, rows, sink = question["task"], 0, pipes.Sink()
    kept = [index for index, name in enumerate(parquet.schema_arrow.names) if not task or name != reading.INPUT]
    fields = [parquet.schema_arrow.field(index) for index in kept]
    schema = pa.schema(sorted(fields, key=lambda field: field.name != reading.CUSTOM_ID) if task else fields)
    schema = pa.schema([*schema, *COLUMNS[task]]) if task else schema
    with pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema, compression="zstd") as writer:
        group, group_rows, group_bytes = list[pa.RecordBatch](), 0, 0
        for batch in _joined(parquet, schema, task):
            group.append(batch)
            group_rows, group_bytes = group_rows + batch.num_rows, group_bytes + batch.nbytes
            if group_rows >= GROUP_ROWS or group_bytes >= GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(group))
                group, group_rows, group_bytes = [], 0, 0
            rows += batch.num_rows
            _begin_step()
        if group:
            writer.write_table(pa.Table.from_batches(group))
    return rows


def _joined(parquet: pq.ParquetFile, schema: pa.Schema, task: str | None) -> Iterator[pa.RecordBatch]:
    entries = pipes.entries()
    entry = next(entries, None)
    for first_row, batch in reading.batches(parquet):
        taken, answers = list[int](), Answers(task) if task else None
        while entry and entry[0] < first_row + batch.num_rows:
            taken.append(entry[0] - first_row)
            if answers:
                answers.add(entry[1])
            entry = next(entries, None)
        if taken:
            columns = batch if len(taken) == batch.num_rows else batch.take(pa.array(taken))
            ours = dict(zip(COLUMNS[task].names, answers.arrays(), strict=True)) if task and answers else {}
            arrays = [ours[name] if name in ours else columns.column(name) for name in schema.names]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        if entry is None:
            return
    if entry is not None:
        raise ValueError("it has fewer rows than before")


def _confine() -> None:
    """Give up files, connections, core dumps and most memory."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _begin_step() -> None:
    signal.setitimer(signal.ITIMER_PROF, STEP_PROCESSOR_S)


if __name__ == "__main__":
    main()
