"""What a check finds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "broken"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: how `about` is, and what to do unless it is well. Never a secret, nor an address with one."""

    about: str
    state: State
    told: str
    remedy: str = ""


Check = Callable[[], Iterable[Finding]]


def ok(about: str, told: str) -> Finding:
    """It is as it should be."""
    return Finding(about, "ok", told)


def warning(about: str, told: str, remedy: str) -> Finding:
    """It works, and somebody should look at it."""
    return Finding(about, "warning", told, remedy)


def broken(about: str, told: str, remedy: str) -> Finding:
    """Requests or jobs fail until it is put right."""
    return Finding(about, "broken", told, remedy)


def carried_out(checks: Iterable[tuple[str, Check]]) -> list[Finding]:
    """What all checks find; one that fails itself is a finding and stops no other."""
    found: list[Finding] = []
    for about, check in checks:
        try:
            found += check()
        except Exception as error:
            found.append(broken(about, f"could not be checked: {type(error).__name__}", "Mend what is broken above."))
    return found
