"""Who did what to a job, from the audit record, in words. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from accounts.selectors.audit import Entry

_WORDS: Final = {
    "job.submitted": "submitted the job",
    "job.approved": "approved the quote",
    "job.cancelled": "cancelled the job",
    "job.paused": "paused it",
    "job.resumed": "resumed it",
    "job.data_deleted": "had its data deleted",
}


@dataclass(frozen=True, slots=True)
class Deed:
    """One line: when, who, what, and why where somebody said so."""

    at: datetime
    who: str
    what: str
    reason: str = ""


def deeds(entries: Iterable[Entry]) -> list[Deed]:
    """The lines of a job's events, in their order."""
    return [Deed(entry.at, entry.actor, _words(entry.action), entry.reason) for entry in entries]


def _words(action: str) -> str:
    return _WORDS.get(action) or action.removeprefix("job.").replace("_", " ")
