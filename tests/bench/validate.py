"""`make bench-validate`: how fast and in how much memory an input is checked; each figure beside its target.

A file of chat rows (1 GiB, 5 M rows) and one of 10 M embedding rows are checked without counting, beside msgspec alone
parsing the same spans in the same processes by turns; counting is compared with a bare `encode_batch` of the same
prompts; memory is that of the whole check. Exits 1 where a target is missed. `SCALE=0.1` makes files of a tenth.
"""

import gc
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import msgspec
import numpy as np

from anex.core.usage import Usage
from inference import catalogue
from inference.catalogue.schema import PackagedWeights
from inference.counting import gguf
from inference.requests import rows as requests
from inference.requests.options import RowOptions
from jobs.run import checking
from jobs.run.check_child import GC_THRESHOLD
from jobs.run.checkers import SPAN_BYTES, check_spans, cores
from jobs.run.cutting import Cutter
from jobs.run.duplicates import find_duplicates
from jobs.run.lines import read_lines
from jobs.run.scope import Scope, Span, spans_of
from jobs.run.totals import Checked
from jobs.storage.local import LocalStore
from tests.bench.memory import Watch

SCALE = float(os.environ.get("SCALE", "1"))
CHAT_ROWS, EMBEDDING_ROWS, COUNTED_ROWS = 5_000_000, 10_000_000, 400_000
SLOWEST, COUNTING_SHARE = 3.0, 0.8
PARENT_MB, CHILD_MB, LONG_LINE_MB = 400, 200, 700
KNOWN = 4096
WORDS = "river ledger stone paper amber cloud seven letter north quiet garden market window silver"
CHAT = (
    b'{"custom_id":"row-%08d","method":"POST","url":"/v1/chat/completions",'
    b'"body":{"messages":[{"role":"user","content":"%b"}]}}\n'
)
EMBEDDING = b'{"custom_id":"r%07d","method":"POST","url":"/v1/embeddings","body":{"input":"%b"}}\n'
ONE = Usage(input_tokens=1)

failed = False


def say(name: str, value: float, target: float, unit: str, *, at_least: bool = False) -> None:
    """Print a figure beside its target."""
    global failed
    missed = value < target if at_least else value > target
    failed = failed or missed
    bound = "at least" if at_least else "at most"
    print(f"{name:52s} {value:8.2f} {unit:3s} ({bound} {target:g}) {'MISSED' if missed else 'ok'}", flush=True)


def write_rows(store: LocalStore, key: str, template: bytes, rows: int, text_bytes: int) -> Scope:
    """A file of rows whose texts are words, most about as long as `text_bytes`."""
    dice = np.random.Generator(np.random.PCG64(7))
    words = WORDS.split()
    texts = []
    for size in dice.integers(text_bytes // 2, text_bytes * 3 // 2 + 1, KNOWN).tolist():
        chosen = " ".join(words[place] for place in dice.integers(0, len(words), size // 4 + 1))
        texts.append(chosen[:size].encode())
    with store.writer(key) as writer:
        for start in range(0, rows, KNOWN):
            some = range(start, min(start + KNOWN, rows))
            writer.write(b"".join([template % (row, texts[row % KNOWN]) for row in some]))
    model = catalogue.get("scripted-embed" if "embeddings" in template.decode() else "scripted")
    assert model is not None
    return Scope(store, key, writer.stored.etag, writer.stored.size, model, RowOptions())


def compare(scope: Scope, span: Span) -> tuple[int, float, float]:
    """Rows of a span, and the processor seconds that msgspec alone and that a check without counting take."""
    gc.set_threshold(GC_THRESHOLD)
    checking.tokens.count_rows = lambda model, rows, **_: [ONE] * len(rows)
    started = time.process_time()
    decode = msgspec.json.Decoder().decode
    for line in read_whole_lines(scope, span):
        decode(line)
    between = time.process_time()
    found = checking.check_span(scope, span)
    return len(found.numbers), between - started, time.process_time() - between


def read_whole_lines(scope: Scope, span: Span) -> Iterator[bytes]:
    """The lines of a span as Python reads a file by lines."""
    path = scope.store._objects / scope.key  # type: ignore[attr-defined]
    with path.open("rb") as file:
        file.seek(span.start)
        if span.start:
            file.readline()
        while file.tell() <= span.end and (lines := file.readlines(1 << 20)):
            yield from lines


def compare_with_msgspec(name: str, scope: Scope) -> None:
    """Both ways by turns, in as many processes as a check has."""
    with get_context("spawn").Pool(cores()) as pool:
        figures = pool.map(partial(compare, scope), spans_of(scope.size_bytes, SPAN_BYTES), chunksize=1)
    rows, alone, ours = (sum(column) for column in zip(*figures, strict=True))
    print(f"{name}: {rows:,} rows, {scope.size_bytes / 2**20:,.0f} MiB; processor time per row: ", end="")
    print(f"msgspec alone {alone / rows * 1e6:.2f} µs, checked {ours / rows * 1e6:.2f} µs")
    say(f"{name}: checked, beside msgspec alone", ours / alone, SLOWEST, "x")


@contextmanager
def watched() -> Iterator[dict[int, float]]:
    """The most memory of this process and of each of its children, in MB, by process id."""
    watch = Watch({"parent": os.getpid()})
    watch.start()
    peaks: dict[int, float] = {}
    try:
        yield peaks
    finally:
        watch.stopped = True
        watch.join()
        peaks |= watch.by_process


def whole_check(scope: Scope) -> tuple[int, float]:
    """All that a worker does but the database: rows and seconds."""
    started = time.monotonic()
    cutter, checked = Cutter(scope), Checked()
    for found in check_spans(scope, pulse=lambda: None):
        cutter.add(found.numbers + checked.lines, found.starts, found.ends)
        checked.add(found)
        assert not checked.problems, checked.problems[0]
    cutter.cut()
    assert find_duplicates(scope, checked.id_hashes, cutter.cuts, pulse=lambda: None) == []
    return sum(cut.row_count for cut in cutter.cuts), time.monotonic() - started


def measure_memory(name: str, scope: Scope, *, parent_mb: float, child_mb: float) -> None:
    """The whole check with its counts by words, and what it takes at most."""
    with watched() as peaks:
        rows, seconds = whole_check(scope)
    mine = peaks.pop(os.getpid())
    print(f"{name}: {rows:,} rows checked and counted by words in {seconds:.1f} s ({rows / seconds:,.0f} rows/s)")
    say(f"{name}: memory of the parent", mine, parent_mb, "MB")
    say(f"{name}: memory of the largest of {len(peaks)} children", max(peaks.values()), child_mb, "MB")


def compare_counting(scope: Scope) -> None:
    """Our count, parsing and template included, beside a bare `encode_batch` of the same prompts."""
    model = catalogue.get("smollm2-135m-instruct")
    assert model is not None
    assert isinstance(model.weights, PackagedWeights)
    tokenizer = gguf.load(model.weights)
    scope = replace(scope, model=model)
    whole = scope.store.read(scope.key, etag=scope.etag)
    parsed = [requests.parse(line.text, model=model, options=scope.options) for line in read_lines(whole)]
    prompts: list[str] = []

    def keep(rendered: list[str]) -> list[int]:
        prompts.extend(rendered)
        return [0] * len(rendered)

    chats = [row for row in parsed if isinstance(row, requests.ChatRow)]
    tokenizer.chats.count(chats, model_id=model.id, count_prompts=keep)
    started, began = busy_seconds(), time.monotonic()
    for place in range(0, len(prompts), 10_000):
        tokenizer.tokenizer.encode_batch(prompts[place : place + 10_000], add_special_tokens=False)
    between, bare_wall = busy_seconds(), time.monotonic() - began
    _, our_wall = whole_check(scope)
    bare, ours = between - started, busy_seconds() - between
    print(f"counting, by the clock: bare {bare_wall:.1f} s, ours {our_wall:.1f} s ({bare_wall / our_wall:.2f})")
    print(f"counting {len(prompts):,} prompts, processor time: bare encode_batch {bare:.1f} s, ", end="")
    print(f"checked and counted {ours:.1f} s, children started and tokenizers loaded")
    say("counting, as a share of a bare encode_batch", bare / ours, COUNTING_SHARE, "", at_least=True)


def busy_seconds() -> float:
    """Processor time of this process, its threads and the children that have ended: what neighbours do is no part."""
    return sum(os.times()[:4])


def write_long_lines(store: LocalStore) -> Scope:
    """Three lines of 200 MB each, in a shape that is left to the exact reader."""
    with store.writer("inputs/long") as writer:
        for row in range(3):
            head, tail = (CHAT % (row, b"|")).split(b"|")
            writer.write(head)
            for _ in range(200):
                writer.write(b"x" * 1_000_000)
            writer.write(tail.replace(b"}}", b',"metadata":{}}}'))
    model = catalogue.get("scripted")
    assert model is not None
    return Scope(store, "inputs/long", writer.stored.etag, writer.stored.size, model, RowOptions())


def main() -> int:
    """Run once; 0 when every figure holds."""
    print(f"{cores()} cores, scale {SCALE:g}")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        store = LocalStore(Path(folder), region="world", public_url="", secret="bench")
        chat = write_rows(store, "inputs/chat", CHAT, int(CHAT_ROWS * SCALE), 94)
        compare_with_msgspec("chat rows", chat)
        measure_memory("chat rows", chat, parent_mb=PARENT_MB, child_mb=CHILD_MB)
        store.delete([chat.key])
        embeddings = write_rows(store, "inputs/embeddings", EMBEDDING, int(EMBEDDING_ROWS * SCALE), 24)
        compare_with_msgspec("embedding rows", embeddings)
        measure_memory("embedding rows", embeddings, parent_mb=PARENT_MB, child_mb=CHILD_MB)
        store.delete([embeddings.key])
        measure_memory("lines of 200 MB", write_long_lines(store), parent_mb=PARENT_MB, child_mb=LONG_LINE_MB)
        store.delete(["inputs/long"])
        compare_counting(write_rows(store, "inputs/counted", CHAT, int(COUNTED_ROWS * SCALE), 94))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
