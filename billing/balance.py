"""What an organization has and may spend, and how a refusal to spend is worded."""

from dataclasses import dataclass

from anex.core.errors import PaymentRequired
from anex.core.money import NANO_PER_CENT, ceil_cents, format_dollars


@dataclass(frozen=True, slots=True)
class Balance:
    """An organization's money in nano-dollars; `credit_limit_nano` is above zero for those billed by invoice."""

    balance_nano: int
    held_nano: int
    credit_limit_nano: int

    @property
    def available_nano(self) -> int:
        """What may still be held or charged; below zero after a correction took more than there was."""
        return self.balance_nano + self.credit_limit_nano - self.held_nano

    @property
    def is_empty(self) -> bool:
        """Whether uploads and submits are refused; holds are not looked at (reference 001)."""
        return self.balance_nano + self.credit_limit_nano <= 0

    def shortfall(self, needed_nano: int) -> PaymentRequired:
        """The 402 for something that needs more than is available: what there is, what is needed and missing.

        `required` and `balance` are reference 004's, in credits: what is needed rounded up, what is available down.
        """
        if self.credit_limit_nano > 0:
            return _limit_reached()
        held = f" ({format_dollars(self.held_nano)} of it is held for other work)" if self.held_nano else ""
        return PaymentRequired(
            f"This needs {_whole_cents(needed_nano)} and {format_dollars(self.available_nano)} is available: "
            f"your balance is {format_dollars(self.balance_nano)}{held}. "
            f"Add {_whole_cents(needed_nano - self.available_nano)} or more and try again.",
            extra={"required": ceil_cents(needed_nano), "balance": self.available_nano // NANO_PER_CENT},
        )

    def empty(self) -> PaymentRequired:
        """The 402 for work that asks only whether there is any balance at all."""
        if self.credit_limit_nano > 0:
            return _limit_reached()
        return PaymentRequired(f"Your balance is {format_dollars(self.balance_nano)}. Add credits and try again.")


def _whole_cents(nano: int) -> str:
    """Dollars rounded up to the cent, so that adding what is named is enough."""
    return format_dollars(ceil_cents(nano) * NANO_PER_CENT)


def _limit_reached() -> PaymentRequired:
    """For an organization billed by monthly invoice (the sentence is reference 003's)."""
    return PaymentRequired("credit limit reached - contact support@anex.sh", code="credit_limit_reached")
