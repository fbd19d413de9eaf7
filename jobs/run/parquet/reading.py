"""Reads a parquet file in batches of bounded size, and says what is wrong with its columns. Runs in the child only.

A batch is bounded by rows and by what it takes up in the file; one that is far larger in memory, as a dictionary of
long values repeated in every row is, is refused.
"""

import io
from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.run.parquet.answers import COLUMNS

# What a row has to have (reference 002, POST /jobs); every other column is echoed.
CUSTOM_ID, INPUT = "custom_id", "input"
MAX_COLUMNS = 1000
MAX_PROBLEMS = 100
BATCH_ROWS = 1024
BATCH_FILE_BYTES = 32 << 20
BATCH_MEMORY_BYTES = 256 << 20
_BUFFERS_BYTES = 64 << 20  # of all columns together
_SHOWN = 100

Problem = tuple[str, int, str, str | None]  # code, row from 1 (0: the file), sentence, column


class Refused(Exception):
    """The file cannot be taken, for these reasons."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__()
        self.problems = problems


def open_file(handle: int) -> pq.ParquetFile:
    """The file, of which nothing but its footer was read. Column chunks are read in pieces, however large they are."""
    source = pa.PythonFile(io.FileIO(handle), mode="r")
    metadata = pq.read_metadata(source)
    if metadata.num_columns > 10 * MAX_COLUMNS:
        raise Refused(_too_many_columns())
    buffer_bytes = max(1 << 14, min(1 << 20, _BUFFERS_BYTES // max(1, metadata.num_columns)))
    return pq.ParquetFile(source, metadata=metadata, buffer_size=buffer_bytes, pre_buffer=False)


def batches(parquet: pq.ParquetFile) -> Iterator[tuple[int, pa.RecordBatch]]:
    """All columns of a few rows at a time, and the number of the first of them, from 0."""
    groups = [parquet.metadata.row_group(index) for index in range(parquet.metadata.num_row_groups)]
    row_bytes = max((group.total_byte_size // max(1, group.num_rows) for group in groups), default=0)
    size, first_row = max(1, min(BATCH_ROWS, BATCH_FILE_BYTES // max(1, row_bytes))), 0
    for batch in parquet.iter_batches(batch_size=size, use_threads=False):
        if batch.nbytes > BATCH_MEMORY_BYTES:
            message = (
                f"Rows {first_row + 1:,} to {first_row + batch.num_rows:,} take up more memory than a file may ask for."
            )
            raise Refused(("file_too_costly", 0, message, None))
        yield first_row, batch
        first_row += batch.num_rows


def check_columns(schema: pa.Schema, *, task: str) -> None:
    """Refuse a file without the two columns of every row, or with one that the result could not hold beside its own."""
    if len(schema) > MAX_COLUMNS:
        raise Refused(_too_many_columns())
    problems: list[Problem] = []
    for name, count in Counter(schema.names).items():
        if count > 1:
            problems.append(("duplicate_column", 0, f"More than one column is named {quoted(name)}.", name[:_SHOWN]))
        if name in COLUMNS[task].names:
            message = f"The column {quoted(name)} has the name of a column of the result: rename it."
            problems.append(("reserved_column", 0, message, name))
    for name in (CUSTOM_ID, INPUT):
        if name not in schema.names:
            problems.append(("missing_column", 0, f"The file has no column {quoted(name)}.", name))
        elif not _is_text(found := schema.types[schema.names.index(name)]):
            message = f"The column {quoted(name)} must be a string column; its type is {str(found)[:_SHOWN]}."
            problems.append(("wrong_type", 0, message, name))
    if problems:
        raise Refused(*problems[:MAX_PROBLEMS])


def check_echo(batch: pa.RecordBatch) -> None:
    """Refuse a column that cannot be written into a result. Only the first row is tried: it is a matter of types."""
    for field, column in zip(batch.schema, batch.columns, strict=True):
        first = pa.table([column.take(pa.array([0]))], schema=pa.schema([field]))
        try:
            pq.write_table(first, pa.BufferOutputStream())
        except pa.ArrowException:
            message = f"The column {quoted(field.name)} cannot be echoed: its type is {str(field.type)[:_SHOWN]}."
            raise Refused(("unsupported_column", 0, message, field.name[:_SHOWN])) from None


def texts(batch: pa.RecordBatch, name: str, first_row: int, problems: list[Problem]) -> list[str]:
    """The strings of a column; what is no string is added to `problems`."""
    column = batch.column(name)
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if column.null_count:
        for index in column.is_null().to_numpy(zero_copy_only=False).nonzero()[0][:MAX_PROBLEMS]:
            problems.append(("missing", first_row + int(index) + 1, f"The column {quoted(name)} is null.", name))
    try:
        column.validate(full=True)
        found: list[str] = column.to_pylist()
        return found
    except (pa.ArrowInvalid, UnicodeDecodeError):
        problems.append(("invalid_encoding", _first_undecodable(column, first_row), "It is not valid UTF-8.", name))
        return []


def quoted(name: str) -> str:
    """A column's name as a sentence shows it."""
    return f'"{name[:_SHOWN]}"'


def _first_undecodable(column: pa.Array, first_row: int) -> int:
    for index, value in enumerate(column.cast(pa.large_binary())):
        try:
            bytes(value.as_py() or b"").decode()
        except UnicodeDecodeError:
            return first_row + index + 1
    return 0


def _too_many_columns() -> Problem:
    return ("too_many_columns", 0, f"The file has more than {MAX_COLUMNS:,} columns.", None)


def _is_text(found: pa.DataType) -> bool:
    if pa.types.is_dictionary(found):
        found = found.value_type
    return bool(pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found))
