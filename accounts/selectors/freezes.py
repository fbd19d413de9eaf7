"""Whether a surface is frozen for maintenance. Read each time, so that a switch is in force everywhere at once."""

from typing import Final

from accounts.models import Freeze
from anex.core.errors import Unavailable

RETRY_S = 60
# Before and after the reason.
_SENTENCES: Final = {
    "batch": ("The batch API is frozen for maintenance", "Jobs go on running and results can be downloaded"),
    "realtime": ("The realtime API is frozen for maintenance", ""),
    "uploads": ("Taking in files is frozen for maintenance", "All else goes on"),
    "console": ("The console is frozen for maintenance", "Its pages can be read, and programs and jobs go on"),
}


def current() -> dict[str, str]:
    """Every surface that staff has frozen, and why."""
    return dict(Freeze.objects.filter(frozen_at__isnull=False).order_by("pk").values_list("pk", "reason"))


def reason(surface: str) -> str | None:
    """Why staff has frozen the surface; None while it is open."""
    return Freeze.objects.filter(pk=surface, frozen_at__isnull=False).values_list("reason", flat=True).first()


def require_open(surface: str) -> None:
    """Unavailable (503, code `frozen`; reference 003, FrozenError) while the surface is frozen."""
    if (why := reason(surface)) is not None:
        raise frozen(surface, why)


def refusal(surface: str) -> Unavailable:
    """The 503 of a surface that was found frozen, with the reason if it still is."""
    return frozen(surface, reason(surface) or "")


def frozen(surface: str, why: str) -> Unavailable:
    """The 503 of a surface that is frozen for a reason."""
    begins, goes_on = _SENTENCES[surface]
    head = f"{begins}: {why}." if why else f"{begins}."
    tail = f"{goes_on}; send this again later." if goes_on else "Send this again later."
    return Unavailable(f"{head} {tail}", code="frozen", retry_after=RETRY_S)
