"""Whether what the stand-in server has answered is what was billed, and nothing is left open."""

import json
import time
import urllib.request
from collections import Counter

from tests.stack import Stack

_RECORDS = """
SELECT count(*), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), coalesce(sum(amount_nano), 0),
       count(*) FILTER (WHERE status <> 'answered')
FROM billing_usagerecord
"""
_MONEY = """
SELECT a.in_flight, a.held_nano, a.balance_nano,
       (SELECT count(*) FROM billing_hold h WHERE h.settled_at IS NULL),
       (SELECT coalesce(sum(h.captured_nano), 0) FROM billing_hold h),
       (SELECT count(*) FROM billing_transfer t WHERE t.debit_id = a.id AND t.kind = 'charge'),
       (SELECT coalesce(sum(t.amount_nano), 0) FROM billing_transfer t WHERE t.debit_id = a.id AND t.kind = 'charge'),
       (SELECT coalesce(sum(t.amount_nano), 0) FROM billing_transfer t WHERE t.credit_id = a.id)
FROM billing_account a WHERE a.organization_id IS NOT NULL
"""


def answered(upstream: int) -> Counter[str]:
    """What the stand-in server has answered so far: requests, input and output tokens."""
    with urllib.request.urlopen(f"http://127.0.0.1:{upstream}/stats", timeout=10) as answer:
        return Counter(json.load(answer))


def check(stack: Stack, served: Counter[str]) -> list[str]:
    """What is wrong, in sentences; `served` is what the stand-in answered to Anex. Waits for the last settlements."""
    deadline = time.monotonic() + 15
    while (money := stack.query(_MONEY)[0])[0] and time.monotonic() < deadline:
        time.sleep(0.1)
    records, inputs, outputs, billed, odd = map(int, stack.query(_RECORDS)[0])
    # Sums of whole numbers come as decimals.
    slots, held, balance, holds, captured, lines, charged, given = map(int, money)
    told = {"requests": records, "input_tokens": inputs, "output_tokens": outputs}
    wrong = [
        f"{name}: {served[name]:,} answered by the server, {count:,} in usage records"
        for name, count in told.items()
        if served[name] != count
    ]
    for name, found, wanted in (
        ("slots taken", slots, 0),
        ("nano-dollars held", held, 0),
        ("open holds", holds, 0),
        ("records of requests that were not answered", odd, 0),
        ("charges in the ledger", lines, records),
        ("nano-dollars charged in the ledger", charged, billed),
        ("nano-dollars captured from holds", captured, billed),
        ("nano-dollars of balance", balance, given - charged),
    ):
        if found != wanted:
            wrong.append(f"{name}: {found:,}, expected {wanted:,}")
    print(f"billed: {records:,} requests, {charged / 1e9:,.4f} dollars; slots {slots}, holds {holds}")
    return wrong
