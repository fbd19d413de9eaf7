"""The check of an input: a bad line fails the job naming the line, and nothing is ever charged for it."""

import json
import os
import signal

import pytest

from accounts.models import Organization
from anex.core import clock
from billing.selectors import balances
from jobs import storage
from jobs.models import Chunk, Job
from jobs.run import checkers, cutting
from jobs.run.control import give_up_or_release, run_control
from jobs.storage import keys
from tests.factories import make_job
from tests.jobs.run.children import children_of_this_process
from tests.jobs.run.driver import HandLease, chat_line, claim_one, submit, validate

GOOD = chat_line("good").encode()


def reason(job: Job) -> str:
    report = json.loads(storage.store().read(keys.failure(job.pk)))
    return str(report["reason"])


BAD = {
    "empty file": (b"", 0, "no rows"),
    "only blank lines": (b"\n\r\n  \n\t\n", 0, "no rows"),
    "byte order mark": (b"\xef\xbb\xbf" + GOOD, 1, "byte order mark"),
    "invalid UTF-8": (GOOD + b"\n" + GOOD.replace(b"hello", b"\xff\xfe").replace(b"good", b"two"), 2, "UTF-8"),
    "UTF-16": (GOOD.decode().encode("utf-16"), 1, "UTF-8"),
    "an array": (b"[1,2,3]\n" + GOOD, 1, "an array"),
    "null": (GOOD + b"\nnull", 2, "null"),
    "a number": (b"42", 1, "a number"),
    "a string": (b'"custom_id method url body"', 1, "a string"),
    "not JSON": (GOOD + b"\n{oops}", 2, "not valid JSON"),
    "cut in the middle": (GOOD[:-5], 1, "not valid JSON"),
    "a body that is a string": (GOOD.replace(GOOD[GOOD.index(b'{"messages') : -1], b'"text"'), 1, "body must be"),
    "a duplicate custom_id": (GOOD + b"\n\n" + GOOD, 3, "already used on line 1"),
    "NaN": (chat_line("x", temperature=float("nan")).encode(), 1, "not valid JSON"),
    "deep nesting": (b'{"custom_id":"x","body":' + b"[" * 100_000 + b"]" * 100_000 + b"}", 1, "deep"),
    "a lone surrogate": (GOOD.replace(b"hello", b"\\ud800"), 1, "not valid JSON"),
    "no custom_id": (b'{"method":"POST","url":"/v1/chat/completions","body":{"messages":[]}}', 1, "custom_id"),
    "GET": (GOOD.replace(b"POST", b"GET"), 1, "method must be POST"),
    "another url": (GOOD.replace(b"chat/completions", b"embeddings"), 1, "chat/completions for the chosen model"),
    "a stream": (chat_line("x", stream=True).encode(), 1, "stream"),
    "no messages": (chat_line("x").replace('"messages"', '"massages"').encode(), 1, "messages"),
    "a row longer than the context": (chat_line("x", "word " * 40_000).encode(), 1, "too long"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_fails_the_job_naming_it(acme: Organization, name: str) -> None:
    data, line, words = BAD[name]
    before = balances.get(acme.pk)
    job = validate(submit(acme, data))
    assert (job.status, job.failure_code, job.failure_line or 0) == ("failed", "invalid_input", line)
    assert words in reason(job)
    assert not line or f"Line {line}: " in reason(job)
    assert job.charge_cents == 0
    assert (job.success_rows, job.error_rows, job.format_error_rows, job.truncated_rows) == (0, 0, 0, 0)
    assert balances.get(acme.pk) == before
    assert not Chunk.objects.filter(job=job, closed=False).exists()


FINE = {
    "one row": (GOOD, 1),
    "no last line end": (GOOD + b"\n" + chat_line("b").encode(), 2),
    "blank lines at the end": (GOOD + b"\n\n\r\n  \n", 1),
    "blank lines between": (b"\n" + GOOD + b"\n\n" + chat_line("b").encode(), 2),
    "CRLF": (GOOD + b"\r\n" + chat_line("b").encode() + b"\r\n", 2),
    "NUL in a prompt": (chat_line("x", "a\x00b").encode(), 1),
    "escaped characters in an id": (chat_line("ü\n\t\"'\\ \U0001f600").encode(), 1),
    "a duplicate key": (GOOD.replace(b'"custom_id"', b'"custom_id":"first","custom_id"'), 1),
    "a line of five million bytes": (chat_line("x", "\u00a0" * 2_500_000).encode(), 1),
}


@pytest.mark.parametrize("name", FINE)
def test_an_unusual_but_correct_file_is_priced(acme: Organization, name: str) -> None:
    data, rows = FINE[name]
    job = validate(submit(acme, data))
    assert (job.status, job.row_count) == ("cost_ready", rows)
    assert job.quote_cents is not None
    assert job.quote_cents >= 1


def test_what_is_wrong_with_the_whole_file_is_reported_without_a_line(acme: Organization) -> None:
    job = validate(submit(acme, b"\n\n"))
    (error,) = json.loads(storage.store().read(keys.failure(job.pk)))["errors"]
    assert (error["code"], error["line"]) == ("empty_file", None)


def test_a_row_that_is_too_long_is_reported_with_the_field_that_is_long(acme: Organization) -> None:
    job = validate(submit(acme, chat_line("x", "word " * 40_000).encode()))
    (error,) = json.loads(storage.store().read(keys.failure(job.pk)))["errors"]
    assert (error["code"], error["param"]) == ("row_too_long", "body.messages")


def test_every_problem_is_reported_up_to_a_hundred(acme: Organization) -> None:
    job = validate(submit(acme, b"null\n" * 150))
    report = json.loads(storage.store().read(keys.failure(job.pk)))
    assert [error["line"] for error in report["errors"]] == list(range(1, 101))


def test_chunks_cover_the_file_within_their_bounds(acme: Organization, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "CHUNK_ROWS", 4)
    monkeypatch.setattr(cutting, "CHUNK_BYTES", 700)
    lines = [chat_line(f"row-{row}", "x" * (row * 40 % 500)) for row in range(23)]
    data = "\n".join(lines).encode()
    job = validate(submit(acme, data))
    chunks = list(Chunk.objects.filter(job=job, kind="rows").order_by("index"))
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert sum(chunk.row_count for chunk in chunks) == 23
    row = 0
    for chunk in chunks:
        assert chunk.first_row == row
        assert 1 <= chunk.row_count <= 4
        assert chunk.byte_end - chunk.byte_start <= 700 or chunk.row_count == 1
        part = data[chunk.byte_start : chunk.byte_end].decode().split()
        assert [json.loads(line)["custom_id"] for line in data[chunk.byte_start : chunk.byte_end].splitlines()] == [
            f"row-{place}" for place in range(row, row + chunk.row_count)
        ]
        assert part
        row += chunk.row_count


def test_a_replaced_input_fails_the_job(acme: Organization) -> None:
    job = submit(acme, GOOD)
    storage.store().put(job.input.key, chat_line("other").encode())
    job = validate(job)
    assert (job.status, job.failure_code) == ("failed", "invalid_input")
    assert "replaced or deleted" in reason(job)


def test_a_given_cap_that_does_not_fit_beside_the_longest_row_names_the_row(acme: Organization) -> None:
    job = validate(submit(acme, chat_line("long", "word " * 32_000).encode(), requested_max_output_tokens=4000))
    assert job.status == "failed"
    assert "Row 'long' is too long" in reason(job)
    assert "lower max_output_tokens" in reason(job)


# A scripted chat row of n words is n + 6 tokens; the context is 32,768.
TOO_LONG = {
    "past the context": (32_763, None, "row_too_long", "32,769 input tokens exceeds the 32,768-token maximum"),
    "the context alone": (32_762, None, "no_room_for_answer", "its 32,768 input tokens leave no room for an answer"),
    "the context alone under a cap": (32_762, 5, "no_room_for_answer", "leave no room for an answer"),
    "with its answer": (32_758, 5, "answer_too_long", "32,764 input tokens and up to 5 output tokens exceed"),
}


@pytest.mark.parametrize("name", TOO_LONG)
def test_a_row_that_does_not_fit_says_which_of_its_parts_is_too_much(acme: Organization, name: str) -> None:
    words, cap, code, sentence = TOO_LONG[name]
    job = validate(submit(acme, chat_line("x", "word " * words).encode(), requested_max_output_tokens=cap))
    (error,) = json.loads(storage.store().read(keys.failure(job.pk)))["errors"]
    assert (error["code"], error["line"], error["param"]) == (code, 1, "body.messages")
    assert sentence in reason(job)


def test_a_custom_id_as_long_as_its_line_is_quoted_by_its_beginning(acme: Organization) -> None:
    lines = [chat_line("x" * 1_000_000), chat_line("x" * 1_000_000), chat_line("y" * 64), chat_line("y" * 64)]
    job = validate(submit(acme, "\n".join(lines).encode()))
    assert reason(job) == f"Line 2: custom_id '{'x' * 64}…' was already used on line 1."
    assert len(storage.store().read(keys.failure(job.id))) < 1_000
    long = validate(submit(acme, chat_line("z" * 1_000_000, "word " * 40_000).encode()))
    assert reason(long).startswith(f"Line 1: Row '{'z' * 64}…' is too long")


def test_a_slow_past_does_not_keep_a_large_job_from_its_quote(acme: Organization) -> None:
    slow = {"startup_seconds": 1.0, "tokens_per_second": 1e-9, "tokens_per_row": 16.0}
    make_job(acme, model_id="scripted", status="done", finished_at=clock.now(), **slow)
    lines = "\n".join(chat_line(f"row-{n}") for n in range(100))
    job = validate(submit(acme, lines.encode()))
    assert (job.status, job.est_processing_seconds) == ("cost_ready", 2**31 - 1)


def test_a_line_beyond_the_limit_among_thousands_of_bad_ones_is_named(acme: Organization) -> None:
    bad = [b"{", b"\xff", b"null", b"[]", b'"\\ud800"', b'{"custom_id":1}', b'{"custom_id":"\\u0000"}', b"[" * 2000]
    data = b"x" * 210_000_001 + b"\n" + b"\n".join(bad * 1250)
    job = validate(submit(acme, data))
    assert (job.status, job.charge_cents) == ("failed", 0)
    assert reason(job) == "Line 1: The line is longer than 210 MB."


def test_a_check_whose_child_was_killed_is_made_again(acme: Organization, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkers, "SPAN_BYTES", 4096)
    monkeypatch.setattr(checkers, "cores", lambda: 2)
    job = submit(acme, "\n".join(chat_line(f"row-{n}") for n in range(200)).encode())
    claim = claim_one(HandLease(), "validate")
    assert claim is not None

    def kill_one() -> bool:
        os.kill(children_of_this_process()[0], signal.SIGKILL)
        return True

    with pytest.raises(checkers.CheckerLost):
        run_control(claim, go_on=kill_one)
    give_up_or_release(claim)
    assert (job.refresh_from_db(), job.status) == (None, "estimating")
    job = validate(job)
    assert (job.status, job.row_count) == ("cost_ready", 200)
