"""What three jobs were made of and what became of them: rows, answers, costs, charges, events, leases and holds."""

import json
import random
import time
from dataclasses import dataclass
from typing import Any, Final

from anex.core.usage import Usage
from billing import pricing
from tests.faults.books import assert_charged, assert_ledger_adds_up, times_sent
from tests.stack import Stack, send

CAP: Final = 32
KINDS: Final = (("echo", 90), ("flaky", 4), ("cut", 3), ("refused", 3))
DIRECTIVES: Final = {
    "echo": "[[echo]]",
    "flaky": "[[echo]] [[status 500 1]]",
    "cut": "[[tokens 200]]",
    "refused": "[[status 400]]",
}
SWEEP: Final = """
from datetime import timedelta
import django
django.setup()
from anex.core import clock
from billing import requests
from billing.tasks import sweep as sweep_money
from jobs import tasks
from jobs.services import sweeps
requests.LEASE_S = 0  # nothing is asked in realtime any more
tasks.sweep()
sweep_money()
sweeps.forget_workers(clock.now() + sweeps.SILENCE - timedelta(seconds={seconds}))
"""
LEFT: Final = """
SELECT (SELECT count(*) FROM jobs_chunk WHERE NOT closed),
       (SELECT count(*) FROM jobs_worker),
       (SELECT count(*) FROM billing_hold WHERE settled_at IS NULL),
       (SELECT count(*) FROM billing_account WHERE held_nano <> 0 OR in_flight <> 0)
"""
# Of these the workers that run; and how long the death of the last one may take to show.
NOTHING: Final = (0, 2, 0, 0)
FORGOTTEN_S: Final = 60.0
ENDS: Final = """
SELECT (SELECT count(*) FROM jobs_jobevent WHERE job_id = j.id AND type IN ('done', 'failed', 'cancelled')),
       (SELECT count(*) FROM billing_usagerecord WHERE source = 'job:' || j.id),
       prices::text
FROM jobs_job j WHERE j.id = '{job_id}'
"""
PARTS: Final = """
SELECT sum(p.cost_nano)::bigint, sum(p.input_tokens)::bigint, sum(p.cached_tokens)::bigint, sum(p.output_tokens)::bigint
FROM jobs_part p JOIN jobs_chunk c ON c.id = p.chunk_id WHERE c.kind = 'rows' AND c.job_id = '{job_id}'
"""


def call(stack: Stack, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """A call of the OpenAI-compatible host: status and decoded body."""
    headers = {"Authorization": f"Bearer {stack.secret}", "Content-Type": "application/json"}
    content = json.dumps(body) if body is not None else None
    status, answer = send(f"http://127.0.0.1:{stack.web_port}{path}", method, content, headers)
    return status, json.loads(answer or b"null")


@dataclass(frozen=True, slots=True)
class Row:
    """One request: what it says, how it goes, and the most tokens of its answer."""

    text: str
    kind: str
    cap: int


class Order:
    """A job to be. Its custom ids are those of the other jobs; what its rows say is not."""

    def __init__(self, name: str, dice: random.Random, rows: int, *, is_batch: bool) -> None:
        self.name = name
        self.is_batch = is_batch
        kinds = dice.choices([kind for kind, _ in KINDS], [share for _, share in KINDS], k=rows)
        self.rows = {
            f"row-{row}": Row(f"{name} number {row}. again", kind, dice.randint(16, 64) if is_batch else CAP)
            for row, kind in enumerate(kinds)
        }

    def submit(self, stack: Stack) -> str:
        """Upload it, and have it run; the id of its job."""
        if self.is_batch:
            return self._submit_batch(stack)
        job_id = stack.submit(self._lines(), max_output_tokens=CAP)
        stack.wait_for(job_id, "cost_ready")
        stack.api("POST", f"/jobs/{job_id}/approve")
        return job_id

    def _submit_batch(self, stack: Stack) -> str:
        head = '--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        head += '--b\r\nContent-Disposition: form-data; name="file"; filename="rows.jsonl"\r\n\r\n'
        form = head + "\n".join(self._lines()) + "\r\n--b--\r\n"
        kind = {"Authorization": f"Bearer {stack.secret}", "Content-Type": "multipart/form-data; boundary=b"}
        status, file = send(f"http://127.0.0.1:{stack.web_port}/v1/files", "POST", form.encode(), kind)
        assert status == 200, file
        asked = {"endpoint": "/v1/chat/completions", "completion_window": "24h"}
        status, batch = call(stack, "POST", "/v1/batches", {"input_file_id": json.loads(file)["id"], **asked})
        assert status == 200, batch
        job_id: str = batch["anex_job_id"]
        stack.wait_for(job_id, "in_progress")
        return job_id

    def _lines(self) -> list[str]:
        return [
            json.dumps(
                {
                    "custom_id": custom_id,
                    "method": "POST",
                    "url": "/v1/chat/completions",
                    "body": {
                        "messages": [{"role": "user", "content": f"{DIRECTIVES[row.kind]} {row.text}"}],
                        **({"model": "scripted", "max_tokens": row.cap} if self.is_batch else {}),
                    },
                }
            )
            for custom_id, row in self.rows.items()
        ]


def sweep(stack: Stack) -> None:
    """What the scheduler does once a minute, and, with workers that were killed, once a day."""
    stack.run(SWEEP.format(seconds=5))


def check(stack: Stack, job_id: str, order: Order) -> int:
    """Every row once, with its own answer; parts, charge and records as delivered. Returns how many were sent again."""
    job = stack.api("GET", f"/jobs/{job_id}")
    assert job["status"] == "done", job
    usages = []
    for custom_id, line in _delivered(stack, job_id, order).items():
        row, body = order.rows[custom_id], (line["response"] or {}).get("body")
        if row.kind == "refused":
            assert (line["response"], bool(line["error"])) == (None, True), line
            continue
        assert line["error"] is None, line
        (choice,) = body["choices"]
        if row.kind == "cut":
            assert (choice["finish_reason"], body["usage"]["completion_tokens"]) == ("length", row.cap)
        else:
            assert choice["message"]["content"].strip() == row.text, (custom_id, row, line)
        usages.append(_usage(body["usage"]))
    terminal, records, prices = stack.query(ENDS.format(job_id=job_id))[0]
    assert (terminal, records) == (1, 1)
    card = pricing.PriceCard.thaw(json.loads(prices))
    total = sum(usages, Usage())
    cost = sum(pricing.row_cost_nano(card, usage) for usage in usages)
    found = (cost, total.input_tokens, total.cached_tokens, total.output_tokens)
    assert stack.query(PARTS.format(job_id=job_id)) == [found]
    assert job["success_rows"] + job["truncated_rows"] == len(usages)
    assert_charged(stack, job)
    times = [count for prompt, count in times_sent(stack, order.name).items() if "500 1" not in prompt]
    return sum(times) - len(times)


def check_nothing_is_left(stack: Stack) -> None:
    """No lease but those of the two workers, no hold; the ledger adds up.

    The last worker that was killed is forgotten by a later sweep than this, and its successor may still start.
    """
    deadline = time.monotonic() + FORGOTTEN_S
    while (left := stack.query(LEFT)[0]) != NOTHING and time.monotonic() < deadline:
        sweep(stack)
    assert left == NOTHING, left
    assert_ledger_adds_up(stack)


def check_realtime(stack: Stack, *, answered: int, killed: int) -> None:
    """Each answer is billed, but for one that a killed web process may have given and not written down."""
    ((billed,),) = stack.query(
        "SELECT count(*) FROM billing_usagerecord WHERE surface = 'chat' AND status = 'answered'"
    )
    assert billed >= answered - killed


def _delivered(stack: Stack, job_id: str, order: Order) -> dict[str, Any]:
    """The lines by custom id: every one once, in input order (of a batch, in each of its files)."""
    files = _batch_files(stack, job_id) if order.is_batch else [stack.result(job_id)]
    places = {custom_id: place for place, custom_id in enumerate(order.rows)}
    for lines in files:
        order_of_lines = [places[line["custom_id"]] for line in lines]
        assert order_of_lines == sorted(set(order_of_lines))
    assert sum(map(len, files)) == len(places)
    delivered = {line["custom_id"]: line for lines in files for line in lines}
    assert delivered.keys() == places.keys()
    return delivered


def _batch_files(stack: Stack, job_id: str) -> list[list[Any]]:
    (batch,) = [each for each in call(stack, "GET", "/v1/batches")[1]["data"] if each["anex_job_id"] == job_id]
    assert batch["status"] == "completed", batch
    files = []
    for name in ("output_file_id", "error_file_id"):
        url = f"http://127.0.0.1:{stack.web_port}/v1/files/{batch[name]}/content"
        status, body = send(url, "GET", headers={"Authorization": f"Bearer {stack.secret}"})
        assert status == 200, body
        files.append([json.loads(text) for text in body.splitlines()])
    return files


def _usage(report: dict[str, Any]) -> Usage:
    cached = (report.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    return Usage(report["prompt_tokens"], cached, report["completion_tokens"])
