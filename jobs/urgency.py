"""Which jobs go first: the window a job pays for, and its place among its organization's jobs of that window. Pure.

A window is a share and a price, never an end: a job runs until it is done, whatever its window says. While an
organization has rows in the shorter window it is due so many times as many places as one that has not. So nobody waits
for ever behind what others pay, and nobody goes before others by a priority, which costs nothing.
"""

from dataclasses import dataclass
from typing import Final

USUAL_WINDOW: Final = "24h"
# Places at the model servers that an organization is due, by the window of its job.
SHARES: Final = {USUAL_WINDOW: 1, "1h": 4}
WINDOWS: Final = tuple(SHARES)
LOWEST, USUAL_PRIORITY, HIGHEST = 0, 5, 9


@dataclass(frozen=True, slots=True)
class Urgency:
    """A completion window, and a priority from 0 to 9: of an organization's jobs of a window the highest runs first."""

    window: str = USUAL_WINDOW
    priority: int = USUAL_PRIORITY

    @property
    def share(self) -> int:
        """The places its organization is due, against one without a window of its own."""
        return SHARES[self.window]
