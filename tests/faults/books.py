"""The four books that must agree after any fault: input, result, what the model server received, ledger."""

import json
from collections import Counter
from typing import Any

from tests.stack import Stack


def chat_lines(count: int, *, prefix: str = "row", content: str = "") -> list[str]:
    """Rows that each say something else, so that the journal tells them apart."""
    return [
        json.dumps(
            {
                "custom_id": f"{prefix}-{row}",
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": {"messages": [{"role": "user", "content": f"{prefix} number {row}. {content}"}]},
            }
        )
        for row in range(count)
    ]


def times_sent(stack: Stack, prefix: str = "row") -> Counter[str]:
    """How often the model server received each row."""
    lines = stack.journal.read_text().splitlines()
    return Counter(line.partition(". ")[0] for line in lines if f"{prefix} number " in line)


def assert_books_agree(stack: Stack, job_id: str, lines: list[str], *, complete: bool = True) -> dict[str, Any]:
    """Every row once and in order, counted once, charged once and within the quote; nothing held."""
    job: dict[str, Any] = stack.api("GET", f"/jobs/{job_id}")
    wanted = [json.loads(line)["custom_id"] for line in lines]
    delivered = [line["custom_id"] for line in stack.result(job_id)]
    if complete:
        assert delivered == wanted
    else:
        places = {custom_id: place for place, custom_id in enumerate(wanted)}
        order = [places[custom_id] for custom_id in delivered]
        assert order == sorted(set(order))
    counted = job["success_rows"] + job["error_rows"] + job["format_error_rows"] + job["truncated_rows"]
    assert counted == len(delivered)
    assert job["pending_rows"] == len(wanted) - len(delivered)
    assert_charged(stack, job)
    return job


def assert_charged(stack: Stack, job: dict[str, Any]) -> None:
    """Its parts are charged once and within the quote; nothing is held."""
    job_id, answered = job["id"], job["success_rows"] + job["format_error_rows"] + job["truncated_rows"]
    ((cost, cents),) = stack.query(
        "SELECT sum(p.cost_nano), max(j.charge_cents) FROM jobs_part p JOIN jobs_chunk c ON c.id = p.chunk_id"
        f" JOIN jobs_job j ON j.id = c.job_id WHERE c.kind = 'rows' AND j.id = '{job_id}'"
    )
    owed = max(1, -(-int(cost) // 10_000_000)) if answered else 0
    assert cents == min(job["est_cost_cents"], owed)
    captures = stack.query(f"SELECT amount_nano FROM billing_transfer WHERE source = 'job:{job_id}:capture'")
    assert [int(amount) for (amount,) in captures] == ([cents * 10_000_000] if cents else [])
    held = stack.query(f"SELECT id FROM billing_hold WHERE settled_at IS NULL AND source = 'job:{job_id}'")
    assert held == []


def assert_ledger_adds_up(stack: Stack) -> None:
    """Every organization's balance is the sum of its transfers, and nothing is held for a job that ended."""
    wrong = stack.query(
        "SELECT a.id FROM billing_account a WHERE a.organization_id IS NOT NULL AND a.balance_nano <>"
        " (SELECT coalesce(sum(CASE WHEN t.credit_id = a.id THEN t.amount_nano ELSE -t.amount_nano END), 0)"
        "  FROM billing_transfer t WHERE a.id IN (t.credit_id, t.debit_id))"
    )
    assert wrong == []
    held = stack.query(
        "SELECT a.held_nano - coalesce(sum(h.amount_nano) FILTER (WHERE h.settled_at IS NULL), 0)"
        " FROM billing_account a LEFT JOIN billing_hold h ON h.account_id = a.id GROUP BY a.id"
    )
    assert {int(difference) for (difference,) in held} <= {0}
