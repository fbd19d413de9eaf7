"""The lines of a file come to the same in whatever pieces they arrive; the first bad one is named."""

import json
import random
import signal
from typing import Any

import pytest

from inference.requests.batch_lines import Target
from jobs.run.arrivals.checker import Checker, CheckerLost
from jobs.run.arrivals.lines import BadLine, Limits, Lines

LIMITS = Limits(line_bytes=10_000, rows=50)


def row(custom_id: str = "a", **body: Any) -> bytes:
    fields = {"custom_id": custom_id, "method": "POST", "url": "/v1/embeddings", "body": {"model": "m"} | body}
    return json.dumps(fields).encode()


def rows(count: int) -> list[bytes]:
    return [row(f"row-{number}") for number in range(count)]


def check(content: bytes, *, limits: Limits = LIMITS) -> int:
    """The rows of a file, which three ways of cutting it into pieces agree on."""
    outcomes = []
    for seed, longest in ((0, len(content) or 1), (1, 1), (2, 200)):
        dice, lines, place = random.Random(seed), Lines(limits), 0
        try:
            while place < len(content):
                end = place + dice.randint(1, longest)
                lines.feed(content[place:end])
                place = end
            outcomes.append((lines.finish(), lines.target, lines.target_line))
        except BadLine as bad:
            outcomes.append((bad.sentence, bad.line, bad.param, bad.status))
            found = bad
    assert len(set(outcomes)) == 1
    if isinstance(outcomes[0][0], str):
        raise found
    assert outcomes[0][1] == Target("/v1/embeddings", "m")
    return outcomes[0][0]


def refused(content: bytes, **limits: Any) -> tuple[str, int]:
    with pytest.raises(BadLine) as caught:
        check(content, **limits)
    return caught.value.sentence, caught.value.status


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\n\n", b"\n \t\n"])
@pytest.mark.parametrize("last", [True, False])
def test_rows_are_counted_however_lines_end(end: bytes, last: bool) -> None:
    assert check(end.join(rows(5)) + (end if last else b"")) == 5


@pytest.mark.parametrize("content", [b"", b"\n", b" \r\n\n", b"\n" * 20])
def test_file_without_a_row_is_empty(content: bytes) -> None:
    assert refused(content)[0] == "The file is empty: it must hold one request per line."


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b'{"custom_id": ', "the line is not valid JSON"),
        (b"[1]", "the line must be a JSON object with custom_id, method, url and body, not an array"),
        (b"\xff\xfe", "the line is not valid UTF-8"),
        (b"\xef\xbb\xbf" + row("b"), "the line starts with a byte order mark"),
        (row(""), "custom_id must not be empty"),
        (row("b", model="other"), "body.model is 'other', but the first line names 'm'"),
    ],
)
def test_first_bad_line_is_named_by_its_number_in_the_file(bad: bytes, why: str) -> None:
    sentence, status = refused(b"\n".join([b"", *rows(3), b" ", bad, *rows(20)[3:], b"{}"]))
    assert sentence.startswith(f"Line 6: {why}")
    assert status == 400


def test_repeated_custom_id_is_named_with_both_lines() -> None:
    content = b"\n".join([b"", *rows(20), b" ", row("row-2"), row("row-1")])
    assert refused(content)[0] == "Line 23: custom_id was already used on line 4."


def test_target_is_known_from_the_first_row_on() -> None:
    lines = Lines(LIMITS)
    lines.feed(b"\n\n" + row() + b"\n")
    assert (lines.target, lines.target_line) == (Target("/v1/embeddings", "m"), 3)


def test_line_of_the_longest_size_is_taken_and_one_byte_more_is_413_that_names_the_size_of_media() -> None:
    longest = row("b", input="")
    longest = longest.replace(b'""', b'"' + b"x" * (10_000 - len(longest)) + b'"')
    assert len(longest) == 10_000
    assert check(b"\n".join([row(), longest, row("c")])) == 3
    for content in ([row(), longest.replace(b"xx", b"xxx", 1), row("c")], [row(), longest + b" "], [b" " * 10_001]):
        assert refused(b"\n".join(content))[1] == 413
    lines = Lines(Limits(32 << 20, 10))
    with pytest.raises(BadLine, match="the line is longer than 32 MiB, so media in it can be up to about 24 MiB"):
        for _ in range(33):
            lines.feed(b"x" * (1 << 20))


def test_as_many_rows_as_allowed_and_not_one_more() -> None:
    assert check(b"\n".join(rows(50))) == 50
    assert refused(b"\n".join(rows(51)))[0] == "The file holds more than 50 requests: split it into several files."
    assert refused(row() + b"\n" * 200)[0].startswith("The file holds more than 50 requests")


class TestChild:
    def test_answers_rows_and_target(self) -> None:
        with Checker(LIMITS) as checker:
            for line in rows(30):
                checker.feed(line + b"\n")
            assert checker.finish() == 30
        assert checker.target == Target("/v1/embeddings", "m")
        assert checker.target_line == 1

    def test_says_what_is_wrong_while_more_comes(self) -> None:
        with pytest.raises(BadLine, match="not valid JSON") as caught, Checker(LIMITS) as checker:
            checker.feed(row() + b"\n{\n")
            while True:
                checker.feed(b" " * 5_000 + b"\n")
        assert (caught.value.line, caught.value.status) == (2, 400)

    def test_that_ends_by_its_own_bounds_refuses_the_file(self) -> None:
        with pytest.raises(BadLine, match="a line of it holds too many values"), Checker(LIMITS) as checker:
            checker.feed(row() + b"\n")
            checker._child.send_signal(signal.SIGABRT)
            checker.finish()

    def test_reads_a_long_line_of_many_values(self) -> None:
        long = row(input="").replace(b'""', b"[" + b"{}," * (1 << 20) + b"{}]")
        with Checker(Limits(line_bytes=4 << 20, rows=9)) as checker:
            checker.feed(long + b"\n")
            assert checker.finish() == 1

    def test_that_is_killed_concludes_nothing(self) -> None:
        with pytest.raises(CheckerLost), Checker(LIMITS) as checker:
            checker.feed(row() + b"\n")
            checker._child.kill()
            checker.finish()
