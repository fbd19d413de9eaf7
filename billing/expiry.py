"""How much of a grant is unspent: pure arithmetic over the grants of one account and what was spent since.

Credits that expire are spent before all others, the soonest to expire first. What an expired grant left behind
(because it was held for running work) goes on being spent first, and is taken back when it is released.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Expiring:
    """A grant with an end. `taken_nano` is what was taken back already; None while it has not expired."""

    source: str
    amount_nano: int
    given_at: datetime
    expires_at: datetime
    taken_nano: int | None = None

    @property
    def spendable_nano(self) -> int:
        """What the grant can have paid for in all."""
        return self.amount_nano - (self.taken_nano or 0)


def unspent(grants: Sequence[Expiring], spent_nano: Sequence[int], held_nano: int) -> dict[str, int]:
    """What is left of every grant, by source, in nano-dollars; what is held counts as spent.

    `grants` are in the order of `given_at`; `spent_nano[i]` is what was charged from the i-th grant until the next.
    """
    left = {grant.source: grant.spendable_nano for grant in grants}
    for place, spent in enumerate(spent_nano):
        _spend(left, grants[: place + 1], spent)
    _spend(left, grants, held_nano)
    return left


def _spend(left: dict[str, int], grants: Sequence[Expiring], nano: int) -> None:
    for grant in sorted(grants, key=lambda grant: (grant.expires_at, grant.given_at, grant.source)):
        paid = min(left[grant.source], nano)
        left[grant.source] -= paid
        nano -= paid
