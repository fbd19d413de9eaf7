"""The life cycle of a job. Nothing else decides which status may follow which.

    submitted ──▶ estimating ──▶ cost_ready ──▶ in_progress ──▶ finalizing ──▶ done
        │             │              │               │               │
        │             │              └──▶ cancelled  ├──▶ cancelling ├──▶ failed
        └─────────────┴──▶ cancelled / failed        │        │      └──▶ cancelled
                                                     │        └──▶ cancelled / failed
                                                     └──▶ cancelled (nothing was in flight)

A pause is no status: a job in `in_progress` may be paused and resumed, and leaving it ends the pause.
`finalizing` ends as what stopped the rows: done when every row has an answer, failed or cancelled otherwise.
The names are those of reference 003, schema Job.
"""

from enum import StrEnum


class Status(StrEnum):
    """Every status a job can show (003, Job.status)."""

    SUBMITTED = "submitted"
    ESTIMATING = "estimating"
    COST_READY = "cost_ready"
    IN_PROGRESS = "in_progress"
    CANCELLING = "cancelling"
    FINALIZING = "finalizing"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


TERMINAL = frozenset({Status.DONE, Status.FAILED, Status.CANCELLED})

FOLLOWS: dict[Status, frozenset[Status]] = {
    Status.SUBMITTED: frozenset({Status.ESTIMATING, Status.CANCELLED, Status.FAILED}),
    Status.ESTIMATING: frozenset({Status.COST_READY, Status.CANCELLED, Status.FAILED}),
    Status.COST_READY: frozenset({Status.IN_PROGRESS, Status.CANCELLED}),
    Status.IN_PROGRESS: frozenset({Status.CANCELLING, Status.FINALIZING, Status.CANCELLED}),
    Status.CANCELLING: frozenset({Status.CANCELLED, Status.FAILED}),
    Status.FINALIZING: frozenset({Status.DONE, Status.FAILED, Status.CANCELLED}),
    Status.DONE: frozenset(),
    Status.FAILED: frozenset(),
    Status.CANCELLED: frozenset(),
}


def sources_of(target: Status) -> list[str]:
    """The statuses from which `target` may be entered."""
    return [str(status) for status, targets in FOLLOWS.items() if target in targets]
