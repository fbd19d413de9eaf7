"""Makes finished rows of a chunk durable together: one object, then one statement that can take effect only once.

An object's key is random per attempt; it is part of the job only once a committed row names it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from django.db import connection

from jobs.models import Part
from jobs.run.claims import ALONE_FROM_CLAIM, Claim
from jobs.run.outcomes import Outcome
from jobs.storage import keys
from jobs.storage.interface import Store

COMMIT = """
WITH mine AS (
    UPDATE jobs_chunk
    SET done = done | %(rows)s::bit varying, cursor = NULL,
        claims = CASE WHEN claims < %(alone)s THEN 0 ELSE claims END,
        closed = bit_count(done | %(rows)s::bit varying) = row_count
    WHERE id = %(chunk)s AND epoch = %(epoch)s AND bit_count(done & %(rows)s::bit varying) = 0
    RETURNING id
)
INSERT INTO jobs_part (chunk_id, key, size_bytes, success_rows, error_rows, format_error_rows, truncated_rows,
                       input_tokens, cached_tokens, output_tokens, reasoning_tokens, lengths, cost_nano, created_at)
SELECT id, %(key)s, %(size_bytes)s, %(success)s, %(error)s, %(format_error)s, %(truncated)s,
       %(input_tokens)s, %(cached_tokens)s, %(output_tokens)s, %(reasoning_tokens)s, %(lengths)s::int[],
       %(cost_nano)s, now()
FROM mine RETURNING id
"""
_DONE = ord("1")


def store_part(store: Store, claim: Claim, outcomes: Sequence[Outcome]) -> tuple[str, int]:
    """Write the rows' lines as one object; returns its key and size in bytes."""
    body = b"".join(b"%d\t%b\n" % (outcome.row, outcome.line) for outcome in outcomes)
    key = keys.part(claim.job_id, claim.id)
    store.add(key, body)
    return key, len(body)


def commit_part(claim: Claim, outcomes: Sequence[Outcome], *, key: str, size_bytes: int) -> bool:
    """Make the rows count, all or none; False when the chunk is no longer held or a row is already done.

    Safe to repeat after a lost answer: a part that is already there counts as committed.
    """
    rows = bytearray(b"0" * claim.row_count)
    for outcome in outcomes:
        rows[outcome.row] = _DONE
    counts = [outcome.count for outcome in outcomes]
    measured = (outcome.length for outcome in outcomes if outcome.length)
    thought = [outcome.reasoning for outcome in outcomes]
    lengths = [[length.output, length.thinking, int(length.cut)] for length in measured]
    values: dict[str, Any] = {
        "alone": ALONE_FROM_CLAIM,
        "chunk": claim.id,
        "epoch": claim.epoch,
        "rows": rows.decode(),
        "key": key,
        "size_bytes": size_bytes,
        "success": counts.count("success"),
        "error": counts.count("error"),
        "format_error": counts.count("format_error"),
        "truncated": counts.count("truncated"),
        "input_tokens": sum(outcome.usage.input_tokens for outcome in outcomes),
        "cached_tokens": sum(outcome.usage.cached_tokens for outcome in outcomes),
        "output_tokens": sum(outcome.usage.output_tokens for outcome in outcomes),
        "reasoning_tokens": None if None in thought else sum(filter(None, thought)),
        "lengths": lengths or None,
        "cost_nano": sum(outcome.cost_nano for outcome in outcomes),
    }
    with connection.cursor() as cursor:
        cursor.execute(COMMIT, values)
        if cursor.fetchone():
            return True
    return Part.objects.filter(chunk_id=claim.id, key=key).exists()


def merge(bodies: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The rows of one chunk's parts and their result lines, in input order, each with its line end."""
    numbered = sorted(entry for body in bodies for entry in _entries(body))
    return ((row, line + b"\n") for row, line in numbered)


def rows_in_error(body: bytes) -> Iterator[int]:
    """The rows of a part whose result line has an error: those without an answer, or with one that broke its format."""
    return (row for row, line in _entries(body) if is_in_error(line))


def is_in_error(line: bytes) -> bool:
    """Whether a result line has an error."""
    return _decode(line).error is not None


class _ResultLine(msgspec.Struct):
    error: str | None


_decode = msgspec.json.Decoder(_ResultLine).decode


def _entries(body: bytes) -> Iterator[tuple[int, bytes]]:
    for entry in body.split(b"\n")[:-1]:
        row, _, line = entry.partition(b"\t")
        yield int(row), line
