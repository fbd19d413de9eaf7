"""What rows and requests cost: pure functions from a price card and usage to integer nano-dollars.

A rate is an integer of nano-dollars per million units. A row's price is rounded up once, to a nano-dollar;
everything above a row is addition, and only a job's total is rounded up again, to a whole cent.
"""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from anex.core.money import NANO_PER_CENT, ceil_cents, cents_to_nano
from anex.core.usage import Usage

_UNITS = 1_000_000
_MINUTE_MS = 60_000

Column = Literal["batch", "realtime"]
NOTHING = Usage()

# At most a million dollars per million units, far above any price and far below an overflow.
Rate = Annotated[int, msgspec.Meta(ge=0, le=10**15)]
Percent = Annotated[int, msgspec.Meta(ge=100, le=10_000)]


class NotSold(LookupError):
    """A card has no price for what was asked; the reference price lists leave some combinations out."""


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
    """Nano-dollars per million images, clips, and seconds or minutes of video or audio, on top of their tokens.

    A clip is one audio or video item. Durations are billed on exactly their length.
    """

    image: Rate = 0
    clip: Rate = 0
    video_second: Rate = 0
    video_minute: Rate = 0
    audio_minute: Rate = 0


_Prices = TypeVar("_Prices", Rates, Fees)


class PriceCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One model's prices from `starts_at` until its next card, in two columns: batch and realtime.

    `text` and `media` are rates for rows without and with media. What is null is not sold: `media` for a model
    that takes none, `realtime` and `realtime_media` for one that is sold in batch alone. `minimum_job_cents` is the
    least a job that delivers a row costs; a realtime request has no minimum. `windows` says how many percent of the
    batch prices a job costs that is to go before those of 24 hours; a window it does not name is not sold.
    """

    model: str
    starts_at: datetime
    text: Rates
    media: Rates | None = None
    fees: Fees = Fees()
    realtime: Rates | None = None
    realtime_media: Rates | None = None
    realtime_fees: Fees = Fees()
    minimum_job_cents: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1
    windows: dict[Literal["1h"], Percent] = {}

    def frozen(self) -> dict[str, Any]:
        """The card as JSON values, to be kept in the job it prices."""
        card: dict[str, Any] = msgspec.to_builtins(self)
        return card

    @classmethod
    def thaw(cls, card: dict[str, Any]) -> "PriceCard":
        """The card that `frozen` wrote."""
        return msgspec.convert(card, cls)

    def percent(self, window: str) -> int:
        """What a job of this window costs, in percent of the batch prices; NotSold where the card does not name it."""
        if window == "24h":
            return 100
        if window == "1h" and window in self.windows:
            return self.windows[window]
        raise NotSold(f"{self.model} has no price for a window of {window}")

    def within(self, window: str) -> "PriceCard":
        """The card of a job of this window: its batch rates and fees, each rounded up once; NotSold as `percent`.

        The minimum stays. A quote and the rows' prices are read off the same card, so a bill cannot pass its quote.
        """
        percent = self.percent(window)
        return msgspec.structs.replace(
            self,
            text=_scaled(self.text, percent),
            media=self.media and _scaled(self.media, percent),
            fees=_scaled(self.fees, percent),
        )

    def rates(self, column: Column, *, media: bool) -> Rates:
        """The rates of a column for rows with or without media; NotSold where the card has none."""
        of_text, of_media = (self.text, self.media) if column == "batch" else (self.realtime, self.realtime_media)
        found = of_media if media else of_text
        if found is None:
            raise NotSold(f"{self.model} has no {column} price{' for media' if media else ''}")
        return found

    def sells(self, column: Column, *, media: bool) -> bool:
        """Whether the card has a price for such rows."""
        try:
            self.rates(column, media=media)
        except NotSold:
            return False
        return True


def row_cost_nano(card: PriceCard, usage: Usage, column: Column = "batch") -> int:
    """The price of one row or request in nano-dollars, rounded up once; NotSold where the card has no price for it.

    A row with any media is billed at the media rates throughout, and its items and their length add their fees.
    """
    rates = card.rates(column, media=usage.has_media)
    fees = card.fees if column == "batch" else card.realtime_fees
    return -(-(_tokens(rates, usage) * _MINUTE_MS + _items(fees, usage)) // (_UNITS * _MINUTE_MS))


def quote_nano(
    card: PriceCard, *, rows: int, input_tokens: int, output_cap: int, media_rows: int = 0, media: Usage = NOTHING
) -> int:
    """The most a job can cost: a whole number of cents, in nano-dollars; NotSold where the card has no price for it.

    `input_tokens` is the exact total over the `rows` without media, `media` what the `media_rows` send together, and
    `output_cap` the most one row of either may write. Rounding a row up adds less than a nano-dollar, at most
    999,999 millionths of one; counting that for every row keeps the sum of rounded rows at or under the quote.
    """
    ceiling = _tokens(card.text, Usage(input_tokens=input_tokens, output_tokens=rows * output_cap)) * _MINUTE_MS
    if media_rows:
        # Nothing is counted as cached beforehand.
        sent = Usage(input_tokens=media.input_tokens, output_tokens=media_rows * output_cap)
        ceiling += _tokens(card.rates("batch", media=True), sent) * _MINUTE_MS + _items(card.fees, media)
    denominator = _UNITS * _MINUTE_MS
    return _whole_cents(card, (ceiling + (rows + media_rows) * (denominator - 1)) // denominator)


def charge_nano(card: PriceCard, *, quote_nano: int, delivered_nano: int, delivered_rows: int) -> int:
    """What a finished job costs: its delivered rows in whole cents, at least the minimum, never above the quote.

    A job that delivered no row is free. `delivered_nano` is the sum of the rows' prices.
    """
    if delivered_rows == 0:
        return 0
    return min(quote_nano, _whole_cents(card, delivered_nano))


def _scaled(prices: _Prices, percent: int) -> _Prices:
    changed = {name: -(-rate * percent // 100) for name, rate in msgspec.structs.asdict(prices).items() if rate}
    return msgspec.structs.replace(prices, **changed)


def _tokens(rates: Rates, usage: Usage) -> int:
    """Tokens times rates, in millionths of a nano-dollar."""
    cached_rate = rates.input if rates.cached is None else rates.cached
    cached = min(usage.cached_tokens, usage.input_tokens)
    uncached = usage.input_tokens - cached
    return uncached * rates.input + cached * cached_rate + usage.output_tokens * rates.output


def _items(fees: Fees, usage: Usage) -> int:
    """Media items and their length times fees, in 60,000ths of a millionth of a nano-dollar: durations stay exact."""
    by_length = usage.video_ms * (fees.video_second * 60 + fees.video_minute) + usage.audio_ms * fees.audio_minute
    return (usage.images * fees.image + usage.clips * fees.clip) * _MINUTE_MS + by_length


def _whole_cents(card: PriceCard, nano: int) -> int:
    return max(cents_to_nano(card.minimum_job_cents), ceil_cents(nano) * NANO_PER_CENT)


def affordable_tokens(rate: int, nano: int) -> int:
    """How many tokens at a rate above 0 an amount covers, 0 for one below zero."""
    return max(0, nano) * _UNITS // rate
