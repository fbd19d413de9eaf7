"""Which role may do what in an organization: one table, no exceptions elsewhere.

A member may approve: approving spends at most the balance that an owner or admin put there, and every key
can do the same. Keys are the exception because a key outlives the person who made it.
"""

from enum import StrEnum


class Action(StrEnum):
    """Something a person does to an organization's things."""

    VIEW = "view"
    SUBMIT_JOB = "submit_job"
    APPROVE_JOB = "approve_job"
    CANCEL_JOB = "cancel_job"
    DOWNLOAD_RESULT = "download_result"
    CREATE_KEY = "create_key"
    REVOKE_KEY = "revoke_key"
    MANAGE_BILLING = "manage_billing"


_WORK = frozenset({Action.VIEW, Action.SUBMIT_JOB, Action.APPROVE_JOB, Action.CANCEL_JOB, Action.DOWNLOAD_RESULT})
_KEYS = frozenset({Action.CREATE_KEY, Action.REVOKE_KEY})
_BILLING = frozenset({Action.MANAGE_BILLING})

ALLOWED: dict[str, frozenset[Action]] = {
    "owner": _WORK | _KEYS | _BILLING,
    "admin": _WORK | _KEYS | _BILLING,
    "member": _WORK,
}


def may(role: str, action: Action) -> bool:
    """Whether the role includes the action; an unknown role includes none."""
    return action in ALLOWED.get(role, frozenset())
