"""The life of a job as steps on a page: what happened, what is now, what is still to come. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from jobs.batch_status import EXPIRED
from jobs.lifecycle import TERMINAL, Status

Tone = Literal["info", "warning", "success", "error", "ghost"]

LABELS: dict[Status, str] = {
    Status.SUBMITTED: "Submitted",
    Status.ESTIMATING: "Estimating",
    Status.COST_READY: "Quoted",
    Status.IN_PROGRESS: "Running",
    Status.CANCELLING: "Cancelling",
    Status.FINALIZING: "Finalizing",
    Status.DONE: "Done",
    Status.FAILED: "Failed",
    Status.CANCELLED: "Cancelled",
}
# Of a batch whose window closed.
_LAPSED: dict[Status, str] = LABELS | {Status.CANCELLING: "Expiring", Status.CANCELLED: "Expired"}
TONES: dict[Status, Tone] = {
    Status.COST_READY: "warning",
    Status.DONE: "success",
    Status.FAILED: "error",
    Status.CANCELLED: "ghost",
}
_STRAIGHT = (
    Status.SUBMITTED,
    Status.ESTIMATING,
    Status.COST_READY,
    Status.IN_PROGRESS,
    Status.FINALIZING,
    Status.DONE,
)
_AHEAD: dict[Status, tuple[Status, ...]] = {
    **{status: _STRAIGHT[place + 1 :] for place, status in enumerate(_STRAIGHT)},
    Status.CANCELLING: (Status.CANCELLED,),
}

_ENDS: dict[Status, Literal["good", "bad", "plain"]] = {
    Status.DONE: "good",
    Status.FAILED: "bad",
    Status.CANCELLED: "plain",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One step; `at` is None while it has not happened."""

    label: str
    state: Literal["past", "now", "good", "bad", "plain", "ahead"]
    at: datetime | None = None


def steps(status: Status, happened: Sequence[tuple[str, datetime]], *, stop_reason: str = "") -> list[Step]:
    """The steps of a job in `status` whose events, oldest first, are `happened`."""
    words, known = labels(stop_reason), [(Status(name), at) for name, at in happened]
    if not known:
        return [Step(words[status], _state(status, is_last=True))]
    shown = [
        Step(words[name], _state(name, is_last=place == len(known)), at) for place, (name, at) in enumerate(known, 1)
    ]
    return shown + [Step(words[name], "ahead") for name in _AHEAD.get(status, ())]


def labels(stop_reason: str) -> dict[Status, str]:
    """The words for the statuses of a job that stopped for this reason, if it did."""
    return _LAPSED if stop_reason == EXPIRED else LABELS


def tone(status: Status) -> Tone:
    """How a status is coloured, in daisyUI's words."""
    return TONES.get(status, "info")


def _state(status: Status, *, is_last: bool) -> Literal["past", "now", "good", "bad", "plain"]:
    if not is_last:
        return "past"
    if status not in TERMINAL:
        return "now"
    return _ENDS[status]
