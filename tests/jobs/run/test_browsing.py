"""Rows of a job as pages show them: in input order, while it runs and afterwards, found by id, bounded."""

from typing import Any

import orjson
import pytest

from accounts.models import Organization
from anex.core import clock
from anex.core.errors import Gone, NotFound
from jobs.models import Chunk, Job, Part
from jobs.run import browsing, outcomes, shown
from jobs.run.browsing import Wanted
from jobs.storage import keys, store
from jobs.storage.interface import Store
from tests.factories import make_input, make_job

LINES = [f'{{"custom_id":"row-{number}","body":{{"n":{number}}}}}\n'.encode() for number in range(10)]


def said(number: int, text: str, **message: Any) -> bytes:
    body = {"choices": [{"message": {"role": "assistant", "content": text, **message}, "finish_reason": "stop"}]}
    return _line(number, body)


def _line(number: int, body: dict[str, Any], error: str | None = None) -> bytes:
    response = {"status_code": 200, "body": body}
    error_type = "response_format_unmet" if error else None
    return orjson.dumps({"custom_id": f"row-{number}", "response": response, "error": error, "error_type": error_type})


def failed(number: int) -> bytes:
    return outcomes.refused(number, f"row-{number}", "The server did not answer.", "upstream_error").line


def a_job(organization: Organization, parts: list[dict[int, bytes]], *, chunks: int = 2, **fields: Any) -> Job:
    """Ten rows in chunks of equal size, with these parts: rows of the file and their lines."""
    stored = store().put(f"tests/{clock.monotonic()}", b"".join(LINES))
    source = make_input(organization, key=stored.key, etag=stored.etag)
    job = make_job(organization, **({"input": source, "row_count": 10, "status": "in_progress"} | fields))
    size, ends = 10 // chunks, [0]
    for line in LINES:
        ends.append(ends[-1] + len(line))
    for index in range(chunks):
        first = index * size
        chunk = Chunk.objects.create(
            job=job,
            kind=Chunk.Kind.ROWS,
            index=index,
            first_row=first,
            row_count=size,
            byte_start=ends[first],
            byte_end=ends[first + size],
        )
        for part in parts:
            _store(job, chunk, {row - first: line for row, line in part.items() if first <= row < first + size})
    return job


def _store(job: Job, chunk: Chunk, lines: dict[int, bytes]) -> None:
    if not lines:
        return
    key, errors = keys.part(job.pk, chunk.pk), sum(b'"error":null' not in line for line in lines.values())
    store().put(key, b"".join(b"%d\t%b\n" % entry for entry in lines.items()))
    counts = dict.fromkeys(("format_error_rows", "truncated_rows", "input_tokens", "cached_tokens", "output_tokens"), 0)
    Part.objects.create(
        chunk=chunk,
        key=key,
        size_bytes=1,
        success_rows=len(lines) - errors,
        error_rows=errors,
        cost_nano=0,
        **counts,
    )


def numbers(page: browsing.Page) -> list[int]:
    return [row.number for row in page.rows]


def test_rows_come_in_the_order_of_the_input_page_after_page(acme, monkeypatch):
    monkeypatch.setattr(browsing, "PAGE_ROWS", 3)
    late = {row: said(row, f"answer {row}") for row in (8, 1, 3, 9)}
    early = {row: said(row, f"answer {row}") for row in (2, 0, 4, 7, 5, 6)}
    job, after, pages = a_job(acme, [late, early]), 0, []
    while after is not None:
        page = browsing.page(job, Wanted(after))
        pages.append(numbers(page))
        after = page.end
    assert pages == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]
    assert page.rows[0].text == "answer 9"


def test_rows_of_a_running_job_are_those_that_are_durable(acme):
    job = a_job(acme, [{3: said(3, "three"), 7: said(7, "seven")}], chunks=10)
    assert numbers(browsing.page(job, Wanted())) == [3, 7]
    assert numbers(browsing.page(job, Wanted(after=4))) == [7]
    assert numbers(browsing.page(a_job(acme, []), Wanted())) == []


def test_failed_rows_are_found_without_reading_parts_that_have_none(acme, monkeypatch):
    good, bad = {row: said(row, "fine") for row in range(9)}, {9: failed(9)}
    job = a_job(acme, [good, bad])
    read = list[str]()
    whole = type(store()).read
    monkeypatch.setattr(type(store()), "read", lambda of, key, **named: read.append(key) or whole(of, key, **named))
    page = browsing.page(job, Wanted(failed=True))
    assert [(row.number, row.state, row.kind, row.text) for row in page.rows] == [
        (9, "failed", "upstream_error", "The server did not answer.")
    ]
    assert len(read) == 1
    over = {"status": "done", "finished_at": clock.now(), "error_rows": 0, "format_error_rows": 0}
    assert browsing.page(a_job(acme, [good], **over), Wanted(failed=True)) == browsing.Page([], None)


def test_a_row_is_found_by_the_beginning_of_its_custom_id(acme):
    quoting = {0: said(0, 'It says "custom_id":"row-5".'), **{row: said(row, "x") for row in range(1, 10)}}
    job = a_job(acme, [quoting])
    assert numbers(browsing.page(job, Wanted(custom_id="row-5"))) == [5]
    assert numbers(browsing.page(job, Wanted(custom_id="row-"))) == list(range(10))
    assert numbers(browsing.page(job, Wanted(custom_id='r"'))) == []


def test_looking_through_a_lot_ends_early_and_says_where_to_go_on(acme, monkeypatch):
    monkeypatch.setattr(browsing, "OBJECTS_AT_ONCE", 1)
    job = a_job(acme, [{row: said(row, "x") for row in range(10)}])
    assert browsing.page(job, Wanted(custom_id="row-9")) == browsing.Page([], 5)
    page = browsing.page(job, Wanted(after=5, custom_id="row-9"))
    assert (numbers(page), page.end) == ([9], None)


@pytest.mark.parametrize("chunks", [1, 10])
def test_a_page_costs_the_same_queries_however_many_chunks_it_reads(acme, chunks, django_assert_num_queries):
    job = a_job(acme, [{row: said(row, "x") for row in range(10)}], chunks=chunks)
    with django_assert_num_queries(3):
        browsing.page(job, Wanted())


def test_one_row_is_shown_with_what_it_asked(acme):
    job = a_job(acme, [{4: said(4, "four " * 200)}])
    whole = browsing.row(job, 4)
    assert whole.row is not None
    assert whole.answer.shown == "four " * 200
    assert '"n": 4' in (whole.asked.shown if whole.asked else "")
    assert '"finish_reason": "stop"' in (whole.result.shown if whole.result else "")
    unfinished = browsing.row(job, 5)
    assert (unfinished.row, unfinished.result) == (None, None)
    assert '"n": 5' in (unfinished.asked.shown if unfinished.asked else "")
    with pytest.raises(NotFound):
        browsing.row(job, 10)
    store().delete([job.input.key])
    assert browsing.row(job, 4).asked is None


def test_what_an_answer_says_depends_on_its_task():
    vector = _line(0, {"data": [{"embedding": [0.25, 0.5, -1, 0.125, 3]}]})
    answers = {
        "urgent": {"type": "noul", "noul": 0.03},
        "team": {"type": "choice", "choice": "billing", "answer_confidence": 0.981},
        "anger": {"type": "score", "score": 1.5},
    }
    cut = _line(0, {"choices": [{"message": {"content": "so"}, "finish_reason": "length"}]})
    calls = said(0, "", tool_calls=[{"function": {"name": "look", "arguments": "{}"}}])
    texts = [browsing.shown.row(0, line).text for line in (vector, _line(0, {"answers": answers}), calls)]
    assert texts == [
        "5 numbers: 0.2500, 0.5000, -1.0000, 0.1250, …",
        "urgent: no (97%); team: billing (98%); anger: 1.50",
        '[{"function":{"name":"look","arguments":"{}"}}]',
    ]
    assert browsing.shown.row(0, cut).state == "cut off"
    assert browsing.shown.row(0, _line(0, {}, "It is no JSON.")).state == "refused"
    assert len(browsing.shown.row(0, said(0, "x" * 1000)).text) == browsing.shown.PREVIEW_CHARACTERS


def test_deleted_rows_are_gone_and_foreign_ones_are_unknown(acme, globex):
    job = a_job(acme, [{0: said(0, "x")}])
    assert browsing.open_job(acme.pk, job.pk) == job
    with pytest.raises(NotFound):
        browsing.open_job(globex.pk, job.pk)
    now = clock.now()
    for field in ("data_deleted_at", "deletion_asked_at", "data_expires_at"):
        gone = a_job(acme, [], **{field: now})
        with pytest.raises(Gone):
            browsing.open_job(acme.pk, gone.pk)
    place: Store = store()
    place.delete([stored.key for stored in place.list(keys.job_prefix(job.pk))])
    with pytest.raises(Gone):
        browsing.page(job, Wanted())


def test_a_line_of_very_many_values_is_shown_without_indents_that_would_fill_the_memory():
    line = b'{"custom_id":"1","x":' + b"[" * 240 + b"0" + b",0" * 200_000 + b"]" * 240 + b"}"
    text = shown.pretty(line)
    assert (text.shown, text.goes_on) == (line[: shown.WHOLE_CHARACTERS].decode(), True)
    assert shown.pretty(b'{"a":[1]}').shown == '{\n  "a": [\n    1\n  ]\n}'
    assert not shown.pretty("é".encode() * shown.WHOLE_CHARACTERS).goes_on


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [{"message": {"content": [1]}, "finish_reason": ["length"]}]},
        {"choices": [None, {"message": "text"}]},
        {"data": [{"embedding": ["a", None]}]},
        {"data": [{"embedding": {}}]},
        {"answers": {"a": {"type": "noul", "noul": "x"}, "b": {"type": "score", "score": {}}, "c": None}},
        {"answers": {"a": {"type": "choice", "choice": [], "answer_confidence": "much"}}},
    ],
)
def test_an_answer_of_another_shape_than_expected_is_shown_nevertheless(body):
    line = _line(1, body)
    assert shown.row(1, line).custom_id == "row-1"
    assert isinstance(shown.answer(line), str)


def test_a_number_of_any_size_is_shown():
    line = b'{"custom_id":"1","response":{"body":{"n":1%b}},"error":null,"error_type":null}' % (b"0" * 30)
    assert shown.answer(line) == '{"n":1' + "0" * 30 + "}"
