"""Rates of a price card as decimal strings of dollars per unit. Pure."""

from billing.pricing import Fees, PriceCard, Rates
from inference.media.formats import Modality

Price = dict[str, str]
_NANO = 9
_MILLION = 6


def dollars(nano_per_million: int) -> str:
    """Dollars per unit of a rate in nano-dollars per million units, exactly: 120_000_000 is 0.00000012."""
    places = _NANO + _MILLION
    digits = str(nano_per_million).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}".rstrip("0").rstrip(".")


def input_prices(card: PriceCard, modality: str) -> list[Price]:
    """What input of a modality costs: its tokens, and the fee of an item or of its length where there is one."""
    rates = card.realtime if modality == "text" else card.realtime_media or card.realtime
    prices = [_price("prompt", "token", rates.input)] if rates else []
    if rates and rates.cached is not None:
        prices.append(_price("cached_prompt", "token", rates.cached))
    return prices + _fees(card.realtime_fees, modality)


def output_prices(card: PriceCard, *, thinks: bool) -> list[Price]:
    """What generated text costs; thinking, of a model that can think, costs what other output costs."""
    rates: Rates | None = card.realtime
    if rates is None:
        return []
    kinds = ("completion", "internal_reasoning") if thinks else ("completion",)
    return [_price(kind, "token", rates.output) for kind in kinds]


def _fees(fees: Fees, modality: str) -> list[Price]:
    known: dict[Modality, tuple[tuple[str, int], ...]] = {
        "image": (("image", fees.image),),
        "audio": (("request", fees.clip), ("minute", fees.audio_minute)),
        "video": (("request", fees.clip), ("second", fees.video_second), ("minute", fees.video_minute)),
    }
    units = known.get(modality, ())  # type: ignore[call-overload]
    return [_price("prompt", unit, rate) for unit, rate in units if rate]


def _price(kind: str, unit: str, rate: int) -> Price:
    return {"type": kind, "unit": unit, "cost_usd": dollars(rate)}
