"""Which role may do what in an organization: one table, no exceptions elsewhere; `docs/roles.md` is written from it.

A member may approve: approving spends at most the balance that an owner or admin put there, and every key
can do the same. Keys are the exception because a key outlives the person who made it; that of the playground does not.
"""

from dataclasses import dataclass
from enum import StrEnum

OWNER, ADMIN, MEMBER = ROLES = ("owner", "admin", "member")


class Action(StrEnum):
    """Something a person does to an organization's things."""

    VIEW = "view"
    SUBMIT_JOB = "submit_job"
    APPROVE_JOB = "approve_job"
    CANCEL_JOB = "cancel_job"
    DOWNLOAD_RESULT = "download_result"
    DELETE_DATA = "delete_data"
    USE_PLAYGROUND = "use_playground"
    CREATE_KEY = "create_key"
    REVOKE_KEY = "revoke_key"
    MANAGE_WEBHOOKS = "manage_webhooks"
    MANAGE_BILLING = "manage_billing"
    RENAME = "rename"
    MANAGE_MEMBERS = "manage_members"
    MANAGE_OWNERS = "manage_owners"
    READ_AUDIT = "read_audit"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Rule:
    """Who may do one thing, and whether it stays possible while the organization is suspended."""

    action: Action
    meaning: str
    roles: frozenset[str]
    while_suspended: bool = False


_ALL = frozenset(ROLES)
_MANAGERS = frozenset({OWNER, ADMIN})
_OWNERS = frozenset({OWNER})

TABLE: tuple[Rule, ...] = (
    Rule(Action.VIEW, "See jobs, keys, members and the balance", _ALL, while_suspended=True),
    Rule(Action.SUBMIT_JOB, "Upload a file and submit a job", _ALL),
    Rule(Action.APPROVE_JOB, "Approve a quote, which spends credits", _ALL),
    Rule(Action.CANCEL_JOB, "Cancel a job", _ALL, while_suspended=True),
    Rule(Action.DOWNLOAD_RESULT, "Download a result", _ALL, while_suspended=True),
    Rule(Action.DELETE_DATA, "Delete a job's file and result", _ALL, while_suspended=True),
    Rule(Action.USE_PLAYGROUND, "Ask models in the playground, which spends credits", _ALL),
    Rule(Action.CREATE_KEY, "Create an API key", _MANAGERS),
    Rule(Action.REVOKE_KEY, "Revoke an API key", _MANAGERS, while_suspended=True),
    Rule(Action.MANAGE_WEBHOOKS, "Set up webhooks, read their log and send again", _MANAGERS, while_suspended=True),
    Rule(
        Action.MANAGE_BILLING,
        "Add credits, see payments; set auto top-up, auto-approve, low-balance e-mail",
        _MANAGERS,
        True,
    ),
    Rule(Action.RENAME, "Rename the organization", _MANAGERS, while_suspended=True),
    Rule(Action.MANAGE_MEMBERS, "Invite, remove and change the role of admins and members", _MANAGERS, True),
    Rule(Action.MANAGE_OWNERS, "Make, demote and remove owners; transfer ownership", _OWNERS, True),
    Rule(Action.READ_AUDIT, "Read and export the audit record", _OWNERS, while_suspended=True),
    Rule(Action.LEAVE, "Leave; the last owner cannot", _ALL, while_suspended=True),
)
RULES = {rule.action: rule for rule in TABLE}


def may(role: str, action: Action, *, suspended: bool = False) -> bool:
    """Whether the role includes the action in that state of the organization; an unknown role includes none."""
    rule = RULES[action]
    return role in rule.roles and (rule.while_suspended or not suspended)


def managing(role: str) -> Action:
    """What it takes to give somebody this role, or to take it from them."""
    return Action.MANAGE_OWNERS if role == OWNER else Action.MANAGE_MEMBERS


def page() -> str:
    """The table as the Markdown of `docs/roles.md`."""
    head = [
        "# Roles",
        "",
        "Written by `manage.py roles` from `accounts/permissions.py`, the one place where a right is decided. A person",
        "may be in several organizations, in a role of its own in each. Every organization has at least one owner.",
        "",
        f"| {' | '.join(('what', *ROLES, 'while suspended'))} |",
        f"|---{'|:---:' * (len(ROLES) + 1)}|",
    ]
    return "\n".join([*head, *(_line(rule) for rule in TABLE), ""])


def _line(rule: Rule) -> str:
    marks = [_mark(role in rule.roles) for role in ROLES]
    return f"| {' | '.join((rule.meaning, *marks, _mark(rule.while_suspended)))} |"


def _mark(yes: bool) -> str:
    return "yes" if yes else "–"
