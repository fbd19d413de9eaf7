"""A file that is no parquet, is not ours to take, or was made to hurt: one sentence, and the worker lives on."""

import random
import struct
import subprocess
import sys

import pyarrow as pa
import pytest

from jobs.run.claims import Interrupted
from jobs.run.parquet import parent, process
from jobs.run.parquet.parent import Lost
from jobs.run.parquet.process import COSTLY, Unreadable
from jobs.run.problems import Problem
from tests.jobs.run.parquet.files import converted, opened, packed, refused, rows

GOOD = packed(rows(3, note=["a", "b", "c"]))
MANY = ["x"] * 3


def deep(levels: int) -> pa.DataType:
    inner: pa.DataType = pa.int32()
    for _ in range(levels):
        inner = pa.list_(inner)
    return inner


def encrypted() -> bytes:
    """A file whose footer says that its columns are encrypted."""
    return b"PARE" + GOOD[4:-4] + b"PARE"


def with_nulls() -> bytes:
    return packed(pa.table({"custom_id": ["a", None, "c", None], "input": ["x", None, "y", "z"]}))


def undecodable() -> bytes:
    texts = pa.array([b"fine", b"\xff", b"fine"], pa.binary())
    return packed(rows(3).set_column(1, "input", pa.Array.from_buffers(pa.string(), 3, texts.buffers())))


COLUMNS = {
    "no custom_id": (packed(rows(1).drop_columns("custom_id")), "missing_column", 'no column "custom_id"'),
    "no input": (packed(rows(1).drop_columns("input")), "missing_column", 'no column "input"'),
    "numbers as ids": (packed(pa.table({"custom_id": [1], "input": ["x"]})), "wrong_type", "its type is int64"),
    "bytes as texts": (packed(pa.table({"custom_id": ["1"], "input": [b"x"]})), "wrong_type", "its type is binary"),
    "a name of ours": (packed(rows(1, output=["x"])), "reserved_column", '"output" has the name of a column of the'),
    "a name twice": (
        packed(pa.Table.from_arrays([pa.array(MANY)] * 3, ["custom_id", "input", "input"])),
        "duplicate_column",
        'More than one column is named "input"',
    ),
    "1,001 columns": (
        packed(rows(1, **{f"c{column}": [1] for column in range(999)})),
        "too_many_columns",
        "more than 1,000 columns",
    ),
    "invalid UTF-8": (undecodable(), "invalid_encoding", "not valid UTF-8"),
}


@pytest.mark.parametrize(("data", "code", "sentence"), COLUMNS.values(), ids=COLUMNS)
def test_columns_are_refused_by_name(data: bytes, code: str, sentence: str) -> None:
    (problem,) = refused(data)
    assert problem.code == code
    assert sentence in problem.message
    assert problem.line == (2 if code == "invalid_encoding" else 0)


def test_nulls_are_named_by_row() -> None:
    found = [(problem.code, problem.line, problem.param) for problem in refused(with_nulls())]
    assert found == [("missing", 2, "custom_id"), ("missing", 2, "input"), ("missing", 4, "custom_id")]


BROKEN = {
    "empty": b"",
    "JSON Lines": b'{"custom_id": "1"}\n' * 20,
    "truncated": GOOD[:-20],
    "magic only": b"PAR1PAR1",
    "footer beyond the file": GOOD[:-8] + struct.pack("<I", 2**31) + b"PAR1",
    "footer of zeros": GOOD[:20] + bytes(200) + struct.pack("<I", 200) + b"PAR1",
    "pages overwritten": GOOD[:4] + b"\xff" * 150 + GOOD[154:],
    "encrypted": encrypted(),
    "nested 500 levels deep": packed(rows(1, deep=pa.array([None], deep(500)))),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_broken_files_are_refused(data: bytes) -> None:
    (problem,) = refused(data)
    assert problem.code in ("unreadable_file", "file_too_costly")
    assert problem.message.endswith(".")
    assert len(problem.message) < 300


def test_rows_that_a_damaged_file_has_lost_are_not_left_out_in_silence() -> None:
    """The footer's count of a file of 77 rows, changed."""
    count, other = b"\x16\x9a\x01", b"\x16\x9c\x01"
    data = packed(rows(77), store_schema=False, write_statistics=False)
    damaged = data[: (at := data.rindex(b"schema")) :] + data[at:].replace(count, other, 1)
    assert damaged != data
    assert [problem.code for problem in refused(damaged)] == ["unreadable_file"]


def repeated(size: int, times: int) -> bytes:
    """A few kilobytes that unpack to `size` bytes of text in each of `times` rows."""
    indices = pa.array([0] * times, pa.int32())
    texts = pa.DictionaryArray.from_arrays(indices, pa.array(["x" * size]))
    return packed(rows(times, bomb=texts), compression="zstd", store_schema=False, write_statistics=False)


@pytest.mark.parametrize(("size", "times"), [(1 << 20, 2000), (8 << 20, 2000)], ids=["a batch", "all memory"])
def test_bombs_are_refused(size: int, times: int) -> None:
    data = repeated(size, times)
    assert len(data) < 200_000
    (problem,) = refused(data)
    assert problem.code == "file_too_costly"


def test_file_of_too_many_rows_is_refused_by_its_footer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_ROWS", 2)
    assert refused(GOOD) == [Problem("too_many_rows", 0, "The input has more than 2 rows.")]


def test_rows_that_unpack_to_too_much_text_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_CONVERTED_BYTES", 300)
    (problem,) = refused(GOOD)
    assert problem.code == "file_too_large"


def test_file_without_rows_has_no_lines() -> None:
    assert converted(packed(rows(1).slice(0, 0))) == b""


def test_bytes_overwritten_at_random_never_do_more_than_fail() -> None:
    rng = random.Random(5)
    for _ in range(6):
        data = bytearray(GOOD)
        for _ in range(rng.randint(1, 8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        for problem in refused(bytes(data)):
            assert problem.message


@pytest.mark.parametrize(
    ("code", "raised"),
    [
        ("os.kill(os.getpid(), signal.SIGXCPU)", Unreadable),
        ("os.abort()", Unreadable),
        ("os.write(1, b'D' + b'\\xff' * 4); sys.stdin.read()", Unreadable),
        ("os.kill(os.getpid(), signal.SIGKILL)", Lost),
        ("sys.exit(1)", Lost),
    ],
)
def test_end_of_the_child_is_the_files_fault_unless_the_machine_ended_it(
    monkeypatch: pytest.MonkeyPatch, code: str, raised: type[Exception]
) -> None:
    monkeypatch.setattr(process, "COMMAND", [sys.executable, "-c", f"import os, signal, sys; {code}"])
    with pytest.raises(raised) as caught, opened(GOOD) as file:
        process.convert(file, task="chat", url="", size=1, write=lambda piece: None, go_on=lambda: True)
    assert not isinstance(caught.value, Unreadable) or caught.value.problems == [COSTLY]


def test_child_can_open_nothing() -> None:
    code = (
        "from jobs.run.parquet import child; import socket; child._confine()\n"
        "for attempt in (lambda: open('/etc/hostname'), socket.socket, lambda: bytearray(4 << 30)):\n"
        "    try: attempt()\n"
        "    except (OSError, MemoryError): continue\n"
        "    raise SystemExit(3)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=process._ROOT, check=False).returncode == 0


STOPS = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
CHATTERS = "import time; print(end='D', flush=True); time.sleep(60)"


@pytest.mark.parametrize("code", [STOPS, CHATTERS])
def test_child_that_hangs_holds_nobody_up(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setattr(process, "COMMAND", [sys.executable, "-c", code])
    monkeypatch.setattr(parent, "LOOK_SECONDS", 0.01)
    with opened(GOOD) as file, pytest.raises(Interrupted):
        process.convert(file, task="chat", url="/", size=1, write=bytes, go_on=lambda: False)
    monkeypatch.setattr(parent, "STEP_SECONDS", 0.1)
    with opened(GOOD) as file, pytest.raises(Lost, match="hangs"):
        process.convert(file, task="chat", url="/", size=1, write=bytes, go_on=lambda: True)


def test_child_that_does_not_listen_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys, time; sys.stdout.buffer.write(b'M\\0\\0\\0\\0'); sys.stdout.flush(); time.sleep(60)"
    monkeypatch.setattr(process, "COMMAND", [sys.executable, "-c", code])
    monkeypatch.setattr(parent, "STEP_SECONDS", 0.5)
    wanted = [(0, b"x" * 2_000_000 + b"\n")]
    with opened(GOOD) as file, pytest.raises(Lost, match="hangs"):
        process.join(file, wanted, task="chat", write=bytes, go_on=lambda: True)
