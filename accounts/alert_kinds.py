"""What an organization is told about by e-mail, and how often an e-mail that could not be sent is tried."""

from datetime import timedelta
from enum import StrEnum

MAX_ATTEMPTS = 30
_LONGEST_WAIT = timedelta(hours=1)


class Kind(StrEnum):
    """Something that happened once and is told once."""

    LOW_BALANCE = "low_balance"
    AUTO_TOPUP_FAILED = "auto_topup_failed"
    KEY_CEILING = "key_ceiling"
    JOB_AWAITING_APPROVAL = "job_awaiting"
    JOB_DONE = "job_done"
    JOB_FAILED = "job_failed"


LABELS: dict[Kind, str] = {
    Kind.LOW_BALANCE: "The balance falls below the threshold on the credits page",
    Kind.AUTO_TOPUP_FAILED: "An automatic top-up fails and is turned off",
    Kind.KEY_CEILING: "A key has spent most of its ceiling",
    Kind.JOB_AWAITING_APPROVAL: "A job waits for approval",
    Kind.JOB_DONE: "A job is done",
    Kind.JOB_FAILED: "A job failed",
}
SUBJECTS: dict[Kind, str] = {
    Kind.LOW_BALANCE: "Your balance is low",
    Kind.AUTO_TOPUP_FAILED: "Your automatic top-up failed",
    Kind.KEY_CEILING: "An API key is near its ceiling",
    Kind.JOB_AWAITING_APPROVAL: "A job waits for your approval",
    Kind.JOB_DONE: "A job is done",
    Kind.JOB_FAILED: "A job failed",
}


def wait_after(attempts: int) -> timedelta:
    """The pause after `attempts` attempts to send: a minute after the first, then doubled, an hour at most."""
    return min(timedelta(minutes=1 << min(attempts - 1, 10)), _LONGEST_WAIT)
