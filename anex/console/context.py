"""What every page of the console may show."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from accounts.access import Member, acting
from accounts.selectors import freezes, notices

THEMES = ("light", "dark")


def maintenance(request: HttpRequest) -> dict[str, Any]:
    """`frozen`: the surfaces that are frozen, and why; `notices`: what staff tells. Asked only where shown."""
    return {
        "frozen": SimpleLazyObject(freezes.current),
        "notices": notices.current,
    }


def theme(request: HttpRequest) -> dict[str, Any]:
    """`theme`: light or dark where this browser chose one; empty where the system decides."""
    chosen = request.COOKIES.get("theme", "")
    return {"theme": chosen if chosen in THEMES else ""}


def member(request: HttpRequest) -> dict[str, Any]:
    """`member`: for whom the person acts, on the account pages too; nobody where none is signed in."""
    return {"member": SimpleLazyObject(lambda: _member(request))}


def _member(request: HttpRequest) -> Member | None:
    if not request.user.is_authenticated:
        return None
    return getattr(request, "member", None) or acting(request)
