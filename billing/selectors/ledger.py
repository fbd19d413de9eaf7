"""The ledger as its organization reads it: transfers, holds and releases in one order of time, page by page.

A realtime request is one line, its charge: it is held for seconds, and shown as held only meanwhile.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from billing.ledger import KINDS, Cursor, Entry, Filter, Totals

# What each kind of line is made of. `rank` orders what one verb wrote in one instant.
_TRANSFERS = """
    SELECT t.at, 1 AS rank, t.id, t.kind, t.source, t.reason, t.actor,
        {sign} t.amount_nano AS amount_nano,
        CASE WHEN t.kind = 'charge' AND NOT starts_with(t.source, 'req:') THEN -t.amount_nano ELSE 0 END AS held_nano,
        t.balance_after_nano AS balance_nano
    FROM billing_transfer t WHERE t.{side}_id = %(account)s AND t.kind = ANY(%(kinds)s)
"""
_HOLDS = """
    SELECT h.placed_at AS at, 0 AS rank, h.id, 'hold' AS kind, h.source, '' AS reason, h.actor,
        0::bigint AS amount_nano, h.amount_nano AS held_nano, NULL::bigint AS balance_nano
    FROM billing_hold h WHERE h.account_id = %(account)s AND 'hold' = ANY(%(kinds)s) AND {which}
"""
_OF_JOBS = "h.surface IS NULL"
_OF_OPEN_REQUESTS = "h.surface IS NOT NULL AND h.settled_at IS NULL AND h.holder_id IS NOT NULL"
_RELEASES = """
    SELECT h.settled_at AS at, 2 AS rank, h.id, 'release' AS kind, h.source, '' AS reason, h.actor,
        0::bigint AS amount_nano, -h.released_nano AS held_nano, NULL::bigint AS balance_nano
    FROM billing_hold h WHERE h.account_id = %(account)s AND h.released_nano > 0 AND 'release' = ANY(%(kinds)s)
        AND h.surface IS NULL
"""
# What a charge of a request was for.
_NAMED = """
    SELECT e.at, e.rank, e.id, e.kind, e.source, coalesce(u.surface || ' on ' || u.model_id, e.reason), e.actor,
        e.amount_nano, e.held_nano, e.balance_nano
    FROM ({entries}) AS e
        LEFT JOIN billing_usagerecord u
            ON starts_with(e.source, 'req:') AND u.source = regexp_replace(e.source, ':capture$', '')
    ORDER BY e.at DESC, e.rank DESC, e.id DESC
"""


@dataclass(frozen=True, slots=True)
class _Branch:
    """Lines of one table that come from one index, and the columns that order them."""

    select: str
    at: str
    rank: int
    key: str

    def and_also(self, condition: str) -> "_Branch":
        return replace(self, select=f"{self.select} AND {condition}")


_MOVES = (
    _Branch(_TRANSFERS.format(sign="", side="credit"), "t.at", 1, "t.id"),
    _Branch(_TRANSFERS.format(sign="-", side="debit"), "t.at", 1, "t.id"),
)
_SET_ASIDE = (
    _Branch(_HOLDS.format(which=_OF_JOBS), "h.placed_at", 0, "h.id"),
    _Branch(_HOLDS.format(which=_OF_OPEN_REQUESTS), "h.placed_at", 0, "h.id"),
    _Branch(_RELEASES, "h.settled_at", 2, "h.id"),
)
# A text is a source, found by its index, or words of a reason, which no charge has.
_FOUND = (
    *(branch.and_also("t.source = ANY(%(sources)s)") for branch in _MOVES),
    *(
        branch.and_also(
            "t.kind <> 'charge' AND strpos(lower(t.reason), %(words)s) > 0 AND t.source <> ALL(%(sources)s)"
        )
        for branch in _MOVES
    ),
    *(branch.and_also("h.source = ANY(%(sources)s)") for branch in _SET_ASIDE),
)


@dataclass(frozen=True, slots=True)
class Page:
    """Entries, newest first; `older` is where the next page starts, None on the last."""

    entries: list[Entry]
    older: Cursor | None


def page(organization_id: UUID, wanted: Filter, *, size: int, before: Cursor | None = None) -> Page:
    """The newest `size` entries older than `before`."""
    branches = []
    for branch in _branches(wanted):
        at, rank, key = branch.at, branch.rank, branch.key
        older = f" AND {at} <= %(at)s AND ({at}, {rank}, {key}) < (%(at)s, %(rank)s, %(id)s)" if before else ""
        branches.append(f"({branch.select}{_between(at)}{older} ORDER BY {at} DESC, {key} DESC LIMIT %(limit)s)")
    query = f"{' UNION ALL '.join(branches)} ORDER BY at DESC, rank DESC, id DESC LIMIT %(limit)s"
    query = _NAMED.format(entries=query)
    parameters = _parameters(organization_id, wanted) | {"limit": size + 1}
    if before:
        parameters |= {"at": before.at, "rank": before.rank, "id": before.id}
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        entries = [Entry(*row) for row in cursor.fetchall()]
    more = len(entries) > size
    return Page(entries[:size], entries[size - 1].cursor if more else None)


def everything(organization_id: UUID, wanted: Filter, *, chunk: int = 1_000) -> Iterator[list[Entry]]:
    """All entries, newest first, a chunk at a time; lines written meanwhile are not among them."""
    before: Cursor | None = None
    while True:
        found = page(organization_id, wanted, size=chunk, before=before)
        if found.entries:
            yield found.entries
        if found.older is None:
            return
        before = found.older


def totals(organization_id: UUID, wanted: Filter) -> Totals:
    """What the entries of all pages add up to. Reads every one of them."""
    figures = """count(*), coalesce(sum(amount_nano) FILTER (WHERE amount_nano > 0), 0),
        coalesce(sum(amount_nano) FILTER (WHERE amount_nano < 0), 0), coalesce(sum(held_nano), 0)"""
    branches = " UNION ALL ".join(f"({each.select}{_between(each.at)})" for each in _branches(wanted))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {figures} FROM ({branches}) AS entry", _parameters(organization_id, wanted))  # noqa: S608
        return Totals(*(int(figure) for figure in cursor.fetchone()))


def moved_by_kind(organization_id: UUID, start: datetime, end: datetime) -> dict[str, tuple[int, int]]:
    """For each kind of line that changed the balance: how many there are, and their sum in nano-dollars."""
    branches = " UNION ALL ".join(f"({each.select}{_between(each.at)})" for each in _MOVES)
    query = f"SELECT kind, count(*), sum(amount_nano) FROM ({branches}) AS entry GROUP BY kind"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(query, _parameters(organization_id, Filter("", start, end)))
        return {kind: (count, int(amount)) for kind, count, amount in cursor.fetchall()}


def first_at(organization_id: UUID) -> datetime | None:
    """When the first line was written, None before it."""
    query = """
        SELECT least(
            (SELECT t.at FROM billing_transfer t WHERE t.credit_id = %(account)s ORDER BY t.at, t.id LIMIT 1),
            (SELECT t.at FROM billing_transfer t WHERE t.debit_id = %(account)s ORDER BY t.at, t.id LIMIT 1)
        )
    """
    with connection.cursor() as cursor:
        cursor.execute(query, {"account": _account(organization_id)})
        found: datetime | None = cursor.fetchone()[0]
    return found


def balance_at(organization_id: UUID, moment: datetime) -> int:
    """The balance just before `moment`, in nano-dollars."""
    query = """
        SELECT balance_after_nano FROM (
            (SELECT t.id, t.balance_after_nano FROM billing_transfer t
                WHERE t.credit_id = %(account)s AND t.at < %(moment)s ORDER BY t.at DESC, t.id DESC LIMIT 1)
            UNION ALL
            (SELECT t.id, t.balance_after_nano FROM billing_transfer t
                WHERE t.debit_id = %(account)s AND t.at < %(moment)s ORDER BY t.at DESC, t.id DESC LIMIT 1)
        ) AS newest ORDER BY id DESC LIMIT 1
    """
    with connection.cursor() as cursor:
        cursor.execute(query, {"account": _account(organization_id), "moment": moment})
        row = cursor.fetchone()
    return row[0] if row else 0


def _branches(wanted: Filter) -> tuple[_Branch, ...]:
    return _FOUND if wanted.text else _MOVES + _SET_ASIDE


def _between(at: str) -> str:
    return f" AND {at} >= %(start)s AND {at} < %(end)s"


def _parameters(organization_id: UUID, wanted: Filter) -> dict[str, Any]:
    return {
        "account": _account(organization_id),
        "kinds": [wanted.kind] if wanted.kind else list(KINDS),
        "start": wanted.start or "-infinity",
        "end": wanted.end or "infinity",
        "sources": wanted.sources,
        "words": wanted.text.lower(),
    }


def _account(organization_id: UUID) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM billing_account WHERE organization_id = %s", [organization_id])
        row = cursor.fetchone()
    return row[0] if row else 0
