"""`anex watch`, `anex jobs` and `anex cancel`."""

import time
from typing import Annotated, Any, Final

import typer
from rich.table import Table

from anex.cli.account import current
from anex.cli.approving import dollars, polls, why_over
from anex.cli.client import Client
from anex.cli.failures import Exit, Failure
from anex.cli.options import AsJson, JobId
from anex.cli.screen import Bar, count, facts, screen, table

Job = dict[str, Any]

OVER: Final = frozenset({"done", "failed", "cancelled"})
_COUNTS: Final = ("success_rows", "error_rows", "format_error_rows", "truncated_rows", "pending_rows")
# A job of hours outlives a server that is restarted: some seven minutes of waits.
_PATIENT: Final = 20
_PAGE: Final = 100
# Seconds between two lines of progress where there is no terminal.
_LINES_S: Final = 15.0

Statuses = Annotated[list[str] | None, typer.Option("--status", help="Only jobs in this status; may be repeated.")]
OfModel = Annotated[str | None, typer.Option("--model", "-m", help="Only jobs of this model.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="So many jobs at most.")]


def watch(job: JobId, as_json: AsJson = False) -> None:
    """Follow a job with a progress bar until it is over."""
    with Client(current(), screen.tell) as client:
        found = follow(client, job)
    screen.answer(found, outcome(found))
    require_done(found)
    screen.tell(f"Its answers: anex download {job}")


def jobs(status: Statuses = None, model: OfModel = None, limit: Limit = 20, as_json: AsJson = False) -> None:
    """List the organization's jobs, newest first."""
    found: list[Job] = []
    after = None
    with Client(current(), screen.tell) as client:
        while len(found) < limit:
            size = min(_PAGE, limit - len(found))
            page = client.get("/batch/v1/jobs", status=status, model=model, limit=size, after=after)
            found += page["data"]
            after = page["next_cursor"]
            if not page["has_more"]:
                break
    headings = ("job", "status", "model", "rows", "quote", "charge", "created (UTC)")
    shown = table(headings, [_row(job) for job in found], right=("rows", "quote", "charge"))
    screen.answer({"data": found, "has_more": bool(after)}, shown if found else "There are no such jobs.")


def cancel(job: JobId, as_json: AsJson = False) -> None:
    """Cancel a job. Rows that are answered already are delivered and charged."""
    with Client(current(), screen.tell) as client:
        moved = client.post(f"/batch/v1/jobs/{job}/cancel")
    screen.answer(moved, f"The job is {moved['status']}.")


def follow(client: Client, job_id: str) -> Job:
    """The job as it was when it was over; its way is shown on the screen."""
    job: Job = client.get(f"/batch/v1/jobs/{job_id}")
    client.attempts = _PATIENT
    told = _Teller()
    with screen.rows("waiting", None) as bar:
        for _ in polls():
            told.show(bar, job)
            if job["status"] in OVER:
                return job
            job = client.get(f"/batch/v1/jobs/{job_id}")
    raise AssertionError


def require_done(job: Job) -> None:
    """Raises Failure (JOB_NOT_DONE) unless every row was dealt with."""
    if job["status"] != "done":
        raise Failure(why_over(job), exit_status=Exit.JOB_NOT_DONE)


def outcome(job: Job) -> Table:
    """How a job ended."""
    failed = (job["error_rows"] or 0) + (job["format_error_rows"] or 0)
    return facts(
        ("status", job["status"]),
        ("answered", count(job["success_rows"])),
        ("failed", count(failed) if failed else None),
        ("cut at the cap", count(job["truncated_rows"]) if job["truncated_rows"] else None),
        ("quoted", None if job["est_cost_cents"] is None else dollars(job["est_cost_cents"])),
        ("charged", None if job["charge_cents"] is None else dollars(job["charge_cents"])),
    )


class _Teller:
    """Moves the bar; where there is no terminal, says now and then how far the job is."""

    def __init__(self) -> None:
        self._last, self._at = "", 0.0

    def show(self, bar: Bar, job: Job) -> None:
        progress = job["progress"] or {}
        state = _state(job, progress)
        bar.show(state, progress.get("rows_done"), progress.get("rows_total"))
        if screen.told.is_terminal:
            return
        moved = f"{state} {count(progress['rows_done'])}/{count(progress['rows_total'])}" if progress else state
        changed = state != self._last.partition(" ")[0] and moved != self._last
        if changed or (moved != self._last and time.monotonic() - self._at > _LINES_S):
            self._last, self._at = moved, time.monotonic()
            screen.tell(moved)


def _state(job: Job, progress: dict[str, Any]) -> str:
    if job["status"] == "cost_ready":
        return "cost_ready: it waits for approval"
    if job["paused"]:
        return "paused"
    if progress.get("waits_for_server"):
        why = progress.get("off_reason")
        return f"waiting: the model is switched off: {why}" if why else "waiting for a server of the model"
    return str(job["status"])


def _row(job: Job) -> tuple[object, ...]:
    rows = job["progress"] and job["progress"]["rows_total"]
    if rows is None and job["success_rows"] is not None:
        rows = sum(job[name] or 0 for name in _COUNTS)
    created = (job["created_at"] or "")[:16].replace("T", " ")
    quoted, charged = job["est_cost_cents"], job["charge_cents"]
    money = (None if cents is None else dollars(cents) for cents in (quoted, charged))
    return job["id"], job["status"], job["model"], None if rows is None else count(rows), *money, created
