"""Money inside is an integer of nano-dollars (1e-9 USD); 1 credit = 1 US cent = 10,000,000 nano-dollars."""

from decimal import Decimal

NANO_PER_CENT = 10_000_000
NANO_PER_DOLLAR = 1_000_000_000


def ceil_cents(nano: int) -> int:
    """Nano-dollars to whole cents, rounded up (towards the seller)."""
    return -(-nano // NANO_PER_CENT)


def cents_to_nano(cents: int) -> int:
    """Whole cents to nano-dollars."""
    return cents * NANO_PER_CENT


def credits(nano: int) -> int | float:
    """An amount in cents: whole where it is whole, else with its digits."""
    return nano // NANO_PER_CENT if nano % NANO_PER_CENT == 0 else float(Decimal(nano) / NANO_PER_CENT)


def format_credits(nano: int) -> str:
    """An amount of nothing or more in cents, with no digit too many."""
    whole, rest = divmod(nano, NANO_PER_CENT)
    return f"{whole}.{rest:07d}".rstrip("0").rstrip(".")


def format_dollars(nano: int) -> str:
    """`$12.34`, rounded down to the cent; an amount below one cent keeps its digits, as `$0.0004`."""
    sign, amount = ("-" if nano < 0 else ""), abs(nano)
    if 0 < amount < NANO_PER_CENT:
        return f"{sign}$0.{amount:09d}".rstrip("0")
    return f"{sign}${amount // NANO_PER_DOLLAR:,}.{amount % NANO_PER_DOLLAR // NANO_PER_CENT:02d}"
