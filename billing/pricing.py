"""What rows cost: pure functions from a price card and token counts to integer nano-dollars.

A rate is an integer of nano-dollars per million units. A row's price is rounded up once, to a nano-dollar;
everything above a row is addition, and only a job's total is rounded up again, to a whole cent.
"""

from datetime import datetime
from typing import Annotated, Any

import msgspec

from anex.core.money import NANO_PER_CENT, ceil_cents, cents_to_nano
from anex.core.usage import Usage

_UNITS = 1_000_000

# At most a million dollars per million units, far above any price and far below an overflow.
Rate = Annotated[int, msgspec.Meta(ge=0, le=10**15)]


class Rates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nano-dollars per million tokens; without `cached`, a cached token costs what any input token costs."""

    input: Rate
    cached: Rate | None = None
    output: Rate = 0

    def __post_init__(self) -> None:
        # A quote counts no token as cached, so a dearer cached rate would let a bill pass its quote.
        if self.cached is not None and self.cached > self.input:
            raise ValueError("the cached rate must not be above the input rate")


class Fees(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nano-dollars per million images, clips and minutes of video, on top of the tokens media become."""

    image: Rate = 0
    clip: Rate = 0
    video_minute: Rate = 0


class PriceCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One model's prices from `starts_at` until its next card.

    `text` and `media` are batch rates for rows without and with media; `realtime` is null where the model
    is not sold in realtime. `minimum_job_cents` is the least a job that delivers a row costs.
    """

    model: str
    starts_at: datetime
    text: Rates
    media: Rates | None = None
    fees: Fees = Fees()
    realtime: Rates | None = None
    minimum_job_cents: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1

    def frozen(self) -> dict[str, Any]:
        """The card as JSON values, to be kept in the job it prices."""
        card: dict[str, Any] = msgspec.to_builtins(self)
        return card

    @classmethod
    def thaw(cls, card: dict[str, Any]) -> "PriceCard":
        """The card that `frozen` wrote."""
        return msgspec.convert(card, cls)


def row_cost_nano(card: PriceCard, usage: Usage) -> int:
    """The price of one text row in nano-dollars, rounded up once."""
    return -(-_scaled(card.text, usage) // _UNITS)


def quote_nano(card: PriceCard, *, rows: int, input_tokens: int, output_cap: int) -> int:
    """The most a job of text rows can cost: a whole number of cents, in nano-dollars.

    `input_tokens` is the exact total over all rows, `output_cap` the most one row may write. Rounding a
    row up adds less than a nano-dollar, at most 999,999 millionths of one; counting that for every row
    keeps the sum of rounded rows at or under the quote.
    """
    ceiling = _scaled(card.text, Usage(input_tokens=input_tokens, output_tokens=rows * output_cap))
    return _whole_cents(card, (ceiling + rows * (_UNITS - 1)) // _UNITS)


def charge_nano(card: PriceCard, *, quote_nano: int, delivered_nano: int, delivered_rows: int) -> int:
    """What a finished job costs: its delivered rows in whole cents, at least the minimum, never above the quote.

    A job that delivered no row is free. `delivered_nano` is the sum of the rows' prices.
    """
    if delivered_rows == 0:
        return 0
    return min(quote_nano, _whole_cents(card, delivered_nano))


def _scaled(rates: Rates, usage: Usage) -> int:
    """Tokens times rates, in millionths of a nano-dollar."""
    cached_rate = rates.input if rates.cached is None else rates.cached
    cached = min(usage.cached_tokens, usage.input_tokens)
    uncached = usage.input_tokens - cached
    return uncached * rates.input + cached * cached_rate + usage.output_tokens * rates.output


def _whole_cents(card: PriceCard, nano: int) -> int:
    return max(cents_to_nano(card.minimum_job_cents), ceil_cents(nano) * NANO_PER_CENT)
