"""All checks, in the order in which to mend what they find."""

from typing import Final

from anex.doctor import models, services, setup
from anex.doctor.findings import Check, Finding, carried_out

_BEFORE: Final[tuple[tuple[str, Check], ...]] = (
    ("settings", setup.secrets),
    ("hosts", setup.hosts),
    ("checks", setup.framework),
    ("database", services.database),
)
_WITHOUT_DATABASE: Final[tuple[tuple[str, Check], ...]] = (
    ("broker", services.broker),
    ("store", services.store),
    ("disk", services.disk),
    ("mail", setup.e_mail),
    ("traces", setup.traces),
)
_WITH_TABLES: Final[tuple[tuple[str, Check], ...]] = (
    ("secret key", setup.sealed),
    ("workers", models.workers),
    ("scheduler", models.scheduler),
    ("model servers", models.model_servers),
    ("jobs", models.waiting_jobs),
    ("prices", models.prices),
)


def examine() -> list[Finding]:
    """Everything; what needs the tables only where they are there."""
    found = carried_out((*_BEFORE, *_WITHOUT_DATABASE))
    is_usable = not any(each.state == "broken" and each.about in ("database", "migrations") for each in found)
    return [*found, *(carried_out(_WITH_TABLES) if is_usable else [])]
