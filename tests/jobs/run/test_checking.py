"""The check of a file comes to the same whatever it is cut into, and to what checking line by line comes to."""

import json
from array import array
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference import tokens
from inference.requests import rows
from jobs.run import checkers, checking, cutting, duplicates, lines, totals, validation
from jobs.run.cutting import Cutter
from jobs.run.drawing import Sampler
from jobs.run.problems import Problem
from jobs.run.scope import Scope
from jobs.run.totals import Checked
from tests.jobs.run.driver import chat_line
from tests.jobs.run.memory_store import scope_of


def check(scope: Scope, *, span: int, together: int = 512, chunk_bytes: int = 900) -> tuple[Checked, Any, Any]:
    """All that a check comes to, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkers, "SPAN_BYTES", span)
        patch.setattr(checkers, "SMALL_SPANS", 10**9)
        patch.setattr(checking, "COUNTED_TOGETHER", together)
        patch.setattr(lines, "FIRST_LOOK_BYTES", 50)
        patch.setattr(lines, "GATHERED_BYTES", 1000)
        patch.setattr(cutting, "CHUNK_ROWS", 5)
        patch.setattr(cutting, "CHUNK_BYTES", chunk_bytes)
        cutter, sampler = Cutter(scope), Sampler(4, seed=7)
        checked = validation._check(scope, cutter, sampler, lambda: None)
        return checked, cutter.cuts, sampler.rows


def comparable(checked: Checked) -> dict[str, Any]:
    """All that adds up, the hashes in one list."""
    return asdict(checked)


def plain_check(data: bytes, scope: Scope) -> tuple[list[Problem], int, int]:
    """The same line by line, the slow way: problems, rows and tokens."""
    problems, count, amount = [], 0, 0
    for number, text in enumerate(data.split(b"\n"), 1):
        line = text.removesuffix(b"\r")
        if not line.strip():
            continue
        count += 1
        if len(text) > scope.max_line_bytes:
            problems.append(Problem("line_too_long", number, "The line is longer than 0 MB."))
            continue
        try:
            row = rows.parse(line, model=scope.model, options=scope.options)
            counted = tokens.count_rows(scope.model, [row], options=scope.options)[0]
            assert not isinstance(counted, rows.RowError)
            amount += counted.input_tokens
        except rows.RowError as error:
            problems.append(Problem(error.code, number, error.message, error.param, rows.named_id(line)))
    return problems[:100], count, amount


LINES = st.one_of(
    st.builds(lambda n: chat_line(f"r{n}", "w " * n).encode(), st.integers(0, 200)),
    st.builds(lambda n: chat_line(f"t{n}", temperature=n).encode(), st.integers(0, 3)),
    st.sampled_from([b"", b"  ", b"null", b"{", b"\xff", chat_line("x").encode() + b"\r", b"[" * 300, b"y" * 3000]),
    st.builds(lambda n: chat_line("l", "z" * n).encode(), st.integers(900, 2500)),
)


@given(st.lists(LINES, max_size=30), st.integers(20, 2400), st.integers(1, 7), st.integers(30, 4000))
@settings(deadline=None, max_examples=60)
def test_any_cut_comes_to_the_same(found: list[bytes], span: int, together: int, block: int) -> None:
    data = b"\n".join(found)
    scope = scope_of(data, block_bytes=block, max_line_bytes=2400)
    whole, cuts, sample = check(scope, span=2400)
    parts = check(scope, span=span, together=together)
    assert (whole.problems, whole.rows, whole.input_tokens) == plain_check(data, scope) or len(whole.problems) == 100
    assert whole.problems or (parts[1], parts[2]) == (cuts, sample)
    assert len(whole.problems) == 100 or comparable(whole) == comparable(parts[0])


def test_chunk_of_a_long_line_is_its_own() -> None:
    data = "\n".join([chat_line("a"), chat_line("b", "x" * 2000), chat_line("c"), chat_line("d")]).encode()
    _, cuts, _ = check(scope_of(data), span=300)
    assert [cut.row_count for cut in cuts] == [1, 1, 2]
    assert [cut.line for cut in cuts] == [1, 2, 3]


def test_every_row_is_as_likely_to_be_drawn() -> None:
    drawn = np.zeros(40)
    places = np.arange(40)
    for seed in range(2000):
        sampler = Sampler(8, seed=seed)
        for start in (0, 3, 25):
            stop = {0: 3, 3: 25, 25: 40}[start]
            sampler.add(places[start:stop], places[start:stop] + 1)
        for row, begin, end in sampler.rows:
            assert (row, row + 1) == (begin, end)
            drawn[row] += 1
    assert drawn.sum() == 16_000
    assert abs(drawn - 400).max() < 5 * 18  # five standard deviations


def test_first_hundred_duplicates_are_named_in_order_also_where_hashes_collide() -> None:
    ids = [f"id-{n % 150}" for n in range(400)]
    data = "\n\n".join(chat_line(custom_id) for custom_id in ids).encode()
    scope = scope_of(data)
    checked, cuts, _ = check(scope, span=2000)
    assert (checked.rows, checked.problems) == (400, [])
    hashes = np.frombuffer(checked.id_hashes, np.int64)
    wanted = [
        (2 * row + 1, f"custom_id 'id-{row % 150}' was already used on line {2 * (row % 150) + 1}.")
        for row in range(150, 250)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jobs.run.hashes._TOGETHER", 64)
        for some in (hashes, hashes % 3, hashes * 0):
            problems = duplicates.find_duplicates(scope, array("q", some.tolist()), cuts, pulse=lambda: None)
            assert [(problem.line, problem.message) for problem in problems] == wanted
        assert duplicates.find_duplicates(scope, array("q", range(400)), cuts, pulse=lambda: None) == []


def test_duplicates_are_named_beside_what_else_is_wrong() -> None:
    """Otherwise a customer who mended the other lines would be told only then."""
    found = [chat_line("a"), "null", "", chat_line("a"), "x" * 500, chat_line("b", temperature=9), chat_line("b"), "{"]
    scope = scope_of("\n".join([*found, chat_line("b"), chat_line("a")]).encode(), max_line_bytes=400)
    for span in (400, 90):
        checked, cuts, _ = check(scope, span=span, together=3)
        assert len(checked.id_hashes) == checked.rows == 9
        checked.note(duplicates.find_duplicates(scope, checked.id_hashes, cuts, pulse=lambda: None))
        assert [(problem.line, problem.code) for problem in checked.problems] == [
            (2, "not_an_object"),
            (4, "duplicate_custom_id"),
            (5, "line_too_long"),
            (6, "out_of_range"),
            (8, "invalid_json"),
            (9, "duplicate_custom_id"),
            (10, "duplicate_custom_id"),
        ]


def test_row_beyond_the_most_is_named_by_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "MAX_ROWS", 7)
    data = "\n\n".join(chat_line(f"r{n}") for n in range(20)).encode() + b"\nnull"
    for span in (200, 10**6):
        checked, _, _ = check(scope_of(data), span=span)
        assert [(problem.code, problem.line) for problem in checked.problems] == [("too_many_rows", 15)]


def test_rows_are_counted_few_at_a_time_where_they_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    together = []
    count_rows = tokens.count_rows

    def count(model: Any, some: Any, **rest: Any) -> Any:
        together.append(len(some))
        return count_rows(model, some, **rest)

    monkeypatch.setattr(checking.tokens, "count_rows", count)
    monkeypatch.setattr(checking, "COUNTED_BYTES", 3_000)
    data = "\n".join(json.dumps(json.loads(chat_line(f"row-{n}", "x" * 1_000))) for n in range(7)).encode()
    checked, _, _ = check(scope_of(data, block_bytes=10**6), span=10**9)
    assert (checked.rows, together) == (7, [3, 3, 1])
