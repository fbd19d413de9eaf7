"""What a job costs: the most, which is its quote, and what it is expected to."""

from dataclasses import dataclass, replace

from anex.core.money import NANO_PER_CENT, cents_to_nano
from anex.core.usage import Usage
from billing import pricing
from jobs.expectation import Mean
from jobs.models import Job


@dataclass(frozen=True, slots=True)
class Expected:
    """Cents: what the job will usually cost, and from where to where with 90 % confidence."""

    expected_cost_cents: int
    expected_cost_low_cents: int
    expected_cost_high_cents: int


def quote_nano(card: pricing.PriceCard, job: Job, *, output_cap: int) -> int:
    """The most a counted job can cost; rows with and without media are priced apart."""
    text, media = _sent(job)
    return pricing.quote_nano(
        card,
        rows=_rows(job) - job.media_rows,
        input_tokens=text.input_tokens,
        output_cap=output_cap,
        media_rows=job.media_rows,
        media=media,
    )


def expected(card: pricing.PriceCard, job: Job, *, written: Mean, quote_cents: int) -> Expected:
    """The exact price of what the rows send and of what they write on average; at least the minimum, at most the quote.

    Rows with and without media are taken to write alike.
    """
    return Expected(*(_cents(card, job, mean, quote_cents) for mean in (written.expected, written.low, written.high)))


def exact(quote_cents: int) -> Expected:
    """Of a job that writes nothing: every token was counted, so the quote is the price."""
    return Expected(quote_cents, quote_cents, quote_cents)


def _cents(card: pricing.PriceCard, job: Job, mean: float, quote_cents: int) -> int:
    text, media = _sent(job)
    rows = (_rows(job) - job.media_rows, job.media_rows)
    used = (replace(sent, output_tokens=round(mean * count)) for sent, count in zip((text, media), rows, strict=True))
    nano = sum(pricing.row_cost_nano(card, usage) for usage in used)
    charge = pricing.charge_nano(
        card, quote_nano=cents_to_nano(quote_cents), delivered_nano=nano, delivered_rows=_rows(job)
    )
    return charge // NANO_PER_CENT


def _sent(job: Job) -> tuple[Usage, Usage]:
    """What the rows without and with media send; the totals of the job are those of both."""
    media = Usage(**job.est_media) if job.est_media else Usage()
    return Usage(input_tokens=(job.est_input_tokens or 0) - media.input_tokens), media


def _rows(job: Job) -> int:
    return job.row_count or 0
