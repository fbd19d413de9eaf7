"""An OpenAI batch is a view of one job: which of its statuses a job shows (reference 000, batch status). Pure.

    submitted, estimating, cost_ready ──▶ validating       done       ──▶ completed
    in_progress                       ──▶ in_progress      failed     ──▶ failed
    finalizing                        ──▶ finalizing       cancelled  ──▶ cancelled, or expired
    cancelling                        ──▶ cancelling; finalizing where its window closed

A batch's window closes a day after it was made, whichever completion window it pays for: nothing of it runs, and
nothing is approved, once it is over.
"""

from datetime import datetime, timedelta
from typing import Final, Literal

from jobs.lifecycle import Status

WINDOW: Final = timedelta(hours=24)
EXPIRED: Final = "expired"  # the stop reason of a job whose window closed

BatchStatus = Literal[
    "validating", "in_progress", "finalizing", "completed", "failed", "cancelling", "cancelled", "expired"
]
_SHOWN: Final[dict[Status, BatchStatus]] = {
    Status.SUBMITTED: "validating",
    Status.ESTIMATING: "validating",
    Status.COST_READY: "validating",
    Status.IN_PROGRESS: "in_progress",
    Status.CANCELLING: "cancelling",
    Status.FINALIZING: "finalizing",
    Status.DONE: "completed",
    Status.FAILED: "failed",
    Status.CANCELLED: "cancelled",
}
_LAPSED: Final[dict[Status, BatchStatus]] = {Status.CANCELLING: "finalizing", Status.CANCELLED: "expired"}


def shown(status: Status, stop_reason: str) -> BatchStatus:
    """The status of a batch whose job has this one and stopped for this reason, if it did."""
    return _LAPSED.get(status, _SHOWN[status]) if stop_reason == EXPIRED else _SHOWN[status]


def expires_at(created_at: datetime) -> datetime:
    """When the window of a batch closes."""
    return created_at + WINDOW
