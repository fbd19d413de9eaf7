"""Whether an API is frozen for maintenance. Read each time, so that a switch is in force everywhere at once."""

from typing import Final

from accounts.models import Freeze
from anex.core.errors import Unavailable

RETRY_S = 60
_SENTENCES: Final = {
    "batch": (
        "The API is frozen for maintenance. Jobs go on running and results can be downloaded; send this again later."
    ),
    "realtime": "The realtime API is frozen for maintenance. Send this again later.",
}


def is_frozen(surface: str) -> bool:
    """Whether staff has frozen the surface."""
    return Freeze.objects.filter(pk=surface, frozen_at__isnull=False).exists()


def require_open(surface: str) -> None:
    """Unavailable (503, code `frozen`; reference 003, FrozenError) while the surface is frozen."""
    if is_frozen(surface):
        raise frozen(surface)


def frozen(surface: str) -> Unavailable:
    """The 503 of a frozen surface."""
    return Unavailable(_SENTENCES[surface], code="frozen", retry_after=RETRY_S)
