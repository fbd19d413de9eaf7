"""The largest amount of money one operation may move, so that no sum of amounts can leave a 64-bit integer."""

from anex.core.errors import InvalidRequest
from anex.core.money import format_dollars

# One billion dollars. The database keeps a balance within four times this, so balance + limit − held fits.
MAX_AMOUNT_NANO = 10**18


def check(amount_nano: int) -> None:
    """Refuse an amount that is not between one nano-dollar and the largest amount (400)."""
    if not 1 <= amount_nano <= MAX_AMOUNT_NANO:
        raise out_of_range()


def out_of_range() -> InvalidRequest:
    """The error for an amount, or for the balance it would lead to, that is absurd."""
    return InvalidRequest(
        f"The amount must be more than zero and at most {format_dollars(MAX_AMOUNT_NANO)}, "
        "and leave a balance that can be kept exactly.",
        code="amount_out_of_range",
    )
