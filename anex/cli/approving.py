"""`anex estimate` and `anex approve`."""

import sys
import time
from collections.abc import Iterator
from typing import Annotated, Any, Final

import typer
from rich.table import Table

from anex.cli.account import current
from anex.cli.client import Client
from anex.cli.failures import Exit, Failure
from anex.cli.options import AsJson, JobId, MaxCost
from anex.cli.screen import count, facts, screen
from anex.core.money import cents_to_nano, format_dollars

Job = dict[str, Any]

BEFORE_QUOTE: Final = frozenset({"submitted", "estimating"})
_POLLS_S: Final = (0.3, 5.0)

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def estimate(job: JobId, as_json: AsJson = False) -> None:
    """Wait for a job's quote and show it: the most that is ever charged."""
    with Client(current(), screen.tell) as client:
        found = quoted(client, job)
    screen.answer(found, quote(found))
    if found["status"] == "cost_ready":
        screen.tell(f"It runs once it is approved: anex approve {job}")


def approve(job: JobId, max_cost: MaxCost = None, yes: Yes = False, as_json: AsJson = False) -> None:
    """Approve a job's quote: the amount is held and the rows start. Nothing more is ever charged."""
    with Client(current(), screen.tell) as client:
        found = quoted(client, job)
        _require_waiting(found)
        _require_within(found, max_cost)
        if not yes:
            _ask(found)
        moved = client.post(f"/batch/v1/jobs/{job}/approve")
    screen.answer(moved, f"The job is {moved['status']}; {dollars(found['est_cost_cents'])} is held.")
    screen.tell(f"How far it is: anex watch {job}")


def accept(client: Client, job_id: str, *, max_cost: float) -> Job:
    """Approve a quote of at most so many dollars as soon as it is there; the job afterwards."""
    found = quoted(client, job_id)
    _require_waiting(found)
    _require_within(found, max_cost)
    moved: Job = client.post(f"/batch/v1/jobs/{job_id}/approve")
    screen.tell(f"The quote of {dollars(found['est_cost_cents'])} is approved.")
    return moved


def quoted(client: Client, job_id: str) -> Job:
    """The job once it has its quote. Raises Failure (JOB_NOT_DONE) where it never gets one."""
    job: Job = client.get(f"/batch/v1/jobs/{job_id}")
    if job["status"] in BEFORE_QUOTE:
        with screen.told.status("pricing every row"):
            for _ in polls():
                job = client.get(f"/batch/v1/jobs/{job_id}")
                if job["status"] not in BEFORE_QUOTE:
                    break
    if job["est_cost_cents"] is None:
        raise Failure(why_over(job), exit_status=Exit.JOB_NOT_DONE)
    return job


def quote(job: Job) -> Table:
    """A quote as a person reads it."""
    low, high = job["expected_cost_low_cents"], job["expected_cost_high_cents"]
    usual = None
    if job["expected_cost_cents"] is not None:
        usual = dollars(job["expected_cost_cents"])
        usual += f" (between {dollars(low)} and {dollars(high)})" if low is not None and low != high else ""
    seconds = job["est_processing_seconds"]
    return facts(
        ("at most", dollars(job["est_cost_cents"])),
        ("usually", usual),
        ("tokens", f"{count(job['est_input_tok'])} in, up to {count(job['est_output_tok'])} out"),
        ("takes about", None if seconds is None else f"{seconds:,} s"),
        ("model", job["model"]),
        ("status", job["status"]),
    )


def polls() -> Iterator[None]:
    """Waits between two looks at a job: short at first, so that a small one is not waited for."""
    pause, longest = _POLLS_S
    while True:
        time.sleep(pause)
        yield
        pause = min(longest, pause * 1.3)


def why_over(job: Job) -> str:
    """Why a job did not go on, in the server's words."""
    reason = job.get("failure_reason") or job.get("stop_reason")
    return f"The job is {job['status']}: {reason}" if reason else f"The job is {job['status']}."


def dollars(cents: int) -> str:
    """Cents as dollars."""
    return format_dollars(cents_to_nano(cents))


def _require_waiting(job: Job) -> None:
    if job["status"] != "cost_ready":
        raise Failure(f"The job does not wait for approval: it is {job['status']}.")


def _require_within(job: Job, max_cost: float | None) -> None:
    cents = job["est_cost_cents"]
    if max_cost is not None and cents > round(max_cost * 100):
        raise Failure(f"The quote is {dollars(cents)}, more than the ${max_cost:,.2f} you allow. Nothing is approved.")


def _ask(job: Job) -> None:
    screen.told.print(quote(job))
    if screen.as_json or not sys.stdin.isatty():
        raise Failure("Nobody is there to ask: add --yes, or --max-cost and --yes.", exit_status=Exit.USAGE)
    if not typer.confirm(f"Hold {dollars(job['est_cost_cents'])} and start?", err=True):
        raise Failure("Nothing is approved.")
