"""Prices of rows, quotes and charges: the published figures, and the promise that a quote is a ceiling."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anex.core.money import NANO_PER_CENT, NANO_PER_DOLLAR, cents_to_nano
from anex.core.usage import Usage
from billing import price_cards
from billing.pricing import Fees, NotSold, PriceCard, Rates, charge_nano, quote_nano, row_cost_nano

MILLION = 1_000_000


def dollars(amount):
    """Dollars as the references print them, in nano-dollars."""
    return round(amount * NANO_PER_DOLLAR)


def card(input=120_000_000, cached=30_000_000, output=600_000_000, minimum=1):
    return PriceCard(
        model="m",
        starts_at=datetime(2025, 1, 1, tzinfo=UTC),
        text=Rates(input=input, cached=cached, output=output),
        minimum_job_cents=minimum,
    )


@pytest.mark.parametrize(
    ("model", "input", "cached", "output", "minimum"),
    [
        ("gemma4-12b", 0.12, 0.03, 0.60, 5),
        ("nemotron-3-nano-omni-30b", 0.12, 0.03, 0.60, 6),
        ("qwen3.8-27b", 0.18, 0.045, 0.90, 12),
    ],
)
def test_text_prices_of_reference_002(model, input, cached, output, minimum):
    price = price_cards.current(model)
    assert row_cost_nano(price, Usage(input_tokens=MILLION)) == dollars(input)
    assert row_cost_nano(price, Usage(input_tokens=MILLION, cached_tokens=MILLION)) == dollars(cached)
    assert row_cost_nano(price, Usage(output_tokens=MILLION)) == dollars(output)
    assert quote_nano(price, rows=1, input_tokens=1, output_cap=1) == cents_to_nano(minimum)


@pytest.mark.parametrize(
    ("model", "input", "cached", "output", "image", "clip", "video_minute"),
    [
        ("gemma4-12b", 0.30, 0.075, 1.50, 0.0002, 0.0002, 0),
        ("nemotron-3-nano-omni-30b", 0.30, 0.075, 1.50, 0.0011, 0.0002, 0),
        ("qwen3.8-27b", 0.30, 0.075, 1.20, 0.0001, 0.0004, 0.0003),
    ],
)
def test_media_prices_of_reference_002(model, input, cached, output, image, clip, video_minute):
    price = price_cards.current(model)
    assert price.media == Rates(input=dollars(input), cached=dollars(cached), output=dollars(output))
    assert price.fees.image == dollars(image) * MILLION
    assert price.fees.clip == dollars(clip) * MILLION
    assert price.fees.video_minute == dollars(video_minute) * MILLION


@pytest.mark.parametrize(
    ("model", "per_million", "media_per_million", "million_images", "million_clips"),
    [
        ("qwen3-embedding-8b", 0.03, None, 0, 0),
        ("qwen3-vl-embedding-8b", 0.03, 0.08, 4, 60),
        ("qwen3-vl-embedding-2b", 0.007, 0.02, 2, 20),
    ],
)
def test_embedding_prices_of_reference_001(model, per_million, media_per_million, million_images, million_clips):
    price = price_cards.current(model)
    assert row_cost_nano(price, Usage(input_tokens=MILLION)) == dollars(per_million)
    assert price.media == (media_per_million and Rates(input=dollars(media_per_million)))
    assert (price.fees.image, price.fees.clip) == (dollars(million_images), dollars(million_clips))


@pytest.mark.parametrize(("model", "cents_per_thousand"), [("qwen3-embedding-8b", 0.003), ("laya", 0.0005)])
def test_thousand_token_prices_of_reference_001(model, cents_per_thousand):
    usage = Usage(input_tokens=1_000)
    assert row_cost_nano(price_cards.current(model), usage) == round(cents_per_thousand * NANO_PER_CENT)


def test_decision_prices_of_references_001_and_002():
    laya = price_cards.current("laya")
    assert row_cost_nano(laya, Usage(input_tokens=MILLION)) == dollars(0.005)
    assert row_cost_nano(laya, Usage(input_tokens=MILLION), "realtime") == dollars(0.033)
    # A 300-token text asked ten questions bills a little over 3,000 tokens; the job's minimum is $0.05.
    asked = row_cost_nano(laya, Usage(input_tokens=3_100))
    assert charge_nano(laya, quote_nano=dollars(1), delivered_nano=asked, delivered_rows=1) == dollars(0.05)


@pytest.mark.parametrize("model", ["glm-5.2", "qwen3.6-27b", "gemma4-31b", "qwen3-14b", "unknown"])
def test_a_model_without_a_published_price_is_not_sold(model):
    assert price_cards.current(model) is None


def test_cached_tokens_pay_the_cached_rate_and_only_they():
    assert row_cost_nano(card(), Usage(input_tokens=100, cached_tokens=80)) == 20 * 120 + 80 * 30


def test_without_a_cached_rate_cached_tokens_cost_what_input_costs():
    assert row_cost_nano(card(cached=None), Usage(input_tokens=100, cached_tokens=80)) == 100 * 120


def test_more_cached_than_input_tokens_cannot_lower_a_price():
    assert row_cost_nano(card(), Usage(input_tokens=100, cached_tokens=10**15)) == 100 * 30


def test_a_row_is_rounded_up_once():
    price = card(input=1, cached=1, output=1)
    assert row_cost_nano(price, Usage(input_tokens=1, output_tokens=1)) == 1
    assert row_cost_nano(price, Usage(input_tokens=MILLION, output_tokens=1)) == 2
    assert row_cost_nano(price, Usage()) == 0


def test_quote_counts_every_row_at_its_cap_and_rounds_up_to_the_cent():
    # 1,000 rows of 100 + 200 tokens: $0.012 + $0.12 = $0.132
    assert quote_nano(card(), rows=1_000, input_tokens=100_000, output_cap=200) == cents_to_nano(14)


def test_quote_is_at_least_a_credit_and_the_minimum():
    assert quote_nano(card(), rows=1, input_tokens=1, output_cap=1) == cents_to_nano(1)
    assert quote_nano(card(minimum=12), rows=1, input_tokens=1, output_cap=1) == cents_to_nano(12)


def test_charge_is_at_least_a_credit_and_the_minimum_but_never_above_the_quote():
    quote = cents_to_nano(20)
    assert charge_nano(card(), quote_nano=quote, delivered_nano=1, delivered_rows=1) == cents_to_nano(1)
    assert charge_nano(card(minimum=12), quote_nano=quote, delivered_nano=1, delivered_rows=1) == cents_to_nano(12)
    assert charge_nano(card(), quote_nano=quote, delivered_nano=10**12, delivered_rows=1) == quote


def test_a_job_that_delivered_nothing_is_free():
    assert charge_nano(card(minimum=12), quote_nano=cents_to_nano(20), delivered_nano=0, delivered_rows=0) == 0


rates = st.integers(0, 10**12)


@st.composite
def cards(draw):
    input = draw(rates)
    cached = draw(st.none() | st.integers(0, input))
    return card(input=input, cached=cached, output=draw(rates), minimum=draw(st.integers(1, 500)))


@st.composite
def rows_under_a_cap(draw):
    cap = draw(st.integers(1, 32_768))
    sizes = st.tuples(st.integers(1, 32_768), st.floats(0, 1), st.integers(0, cap))
    rows = draw(st.lists(sizes, min_size=1, max_size=60))
    return cap, [Usage(input, int(input * share), output) for input, share, output in rows]


@given(cards(), rows_under_a_cap(), st.data())
def test_no_job_costs_more_than_its_quote(price, job, data):
    cap, rows = job
    quote = quote_nano(price, rows=len(rows), input_tokens=sum(row.input_tokens for row in rows), output_cap=cap)
    delivered = data.draw(st.lists(st.sampled_from(rows), unique_by=id))
    cost = sum(row_cost_nano(price, row) for row in delivered)
    charge = charge_nano(price, quote_nano=quote, delivered_nano=cost, delivered_rows=len(delivered))
    assert cost <= quote
    assert charge <= quote
    assert quote % NANO_PER_CENT == charge % NANO_PER_CENT == 0
    assert charge >= (cost if delivered else 0)
    assert (charge >= cents_to_nano(price.minimum_job_cents)) == bool(delivered)


@given(cards(), st.integers(1, 10**7), st.integers(1, 32_768))
def test_a_quote_is_under_a_cent_above_its_rows_when_each_uses_its_cap(price, rows, cap):
    row = row_cost_nano(price, Usage(input_tokens=100, output_tokens=cap))
    quote = quote_nano(price, rows=rows, input_tokens=100 * rows, output_cap=cap)
    floor = cents_to_nano(price.minimum_job_cents)
    assert rows * row <= quote < max(rows * row + rows + NANO_PER_CENT, floor + 1)


@given(cards(), st.integers(0, 10**6), st.integers(0, 10**6))
def test_more_tokens_never_cost_less(price, fewer, extra):
    assert row_cost_nano(price, Usage(input_tokens=fewer)) <= row_cost_nano(price, Usage(input_tokens=fewer + extra))


@pytest.mark.parametrize("model", sorted(price_cards.load(price_cards.PRICES_DIR)))
def test_a_card_survives_being_frozen_into_a_job(model):
    price = price_cards.current(model)
    kept = msgspec.json.decode(msgspec.json.encode(price.frozen()))
    assert PriceCard.thaw(kept) == price


def media_card(**changes):
    fees = Fees(image=7, clip=11, video_second=13, video_minute=600, audio_minute=1_200)
    return msgspec.structs.replace(card(), media=Rates(input=300, cached=75, output=1_500), fees=fees, **changes)


@pytest.mark.parametrize("model", ["gemma4-12b", "nemotron-3-nano-omni-30b", "qwen3.8-27b"])
def test_a_row_with_an_image_pays_media_rates_throughout_and_the_image(model):
    price = price_cards.current(model)
    usage = Usage(input_tokens=MILLION, output_tokens=MILLION, images=1)
    assert price.media
    assert row_cost_nano(price, usage) == price.media.input + price.media.output + price.fees.image // MILLION


@pytest.mark.parametrize(
    ("model", "usage", "fee"),
    [
        ("gemma4-12b", Usage(images=1), 0.0002),
        ("gemma4-12b", Usage(clips=1, audio_ms=30_000), 0.0002),
        ("gemma4-12b", Usage(clips=1, video_ms=60_000), 0.0002),
        ("nemotron-3-nano-omni-30b", Usage(images=1), 0.0011),
        ("nemotron-3-nano-omni-30b", Usage(clips=1, audio_ms=40 * 60_000), 0.0002),
        ("qwen3.8-27b", Usage(images=3), 0.0003),
        ("qwen3.8-27b", Usage(clips=1, video_ms=60_000), 0.0004 + 0.0003),
        ("qwen3.8-27b", Usage(clips=1, video_ms=90_000), 0.0004 + 0.00045),
        ("qwen3.8-27b", Usage(clips=2, video_ms=120_000, images=1), 0.0008 + 0.0006 + 0.0001),
    ],
)
def test_fees_of_items_and_their_length_of_reference_002(model, usage, fee):
    assert row_cost_nano(price_cards.current(model), usage) == dollars(fee)


@pytest.mark.parametrize(
    ("model", "usage", "cost"),
    [
        ("qwen3-vl-embedding-8b", Usage(input_tokens=MILLION, images=MILLION), 0.08 + 4),
        ("qwen3-vl-embedding-8b", Usage(input_tokens=MILLION, clips=MILLION, video_ms=1), 0.08 + 60),
        ("qwen3-vl-embedding-2b", Usage(input_tokens=MILLION, images=MILLION), 0.02 + 2),
        ("qwen3-vl-embedding-2b", Usage(input_tokens=MILLION, clips=MILLION), 0.02 + 20),
    ],
)
def test_media_rows_of_embedding_models_of_reference_001(model, usage, cost):
    assert row_cost_nano(price_cards.current(model), usage) == dollars(cost)


def test_a_higher_video_rate_costs_more_tokens_and_the_same_fees():
    # Reference 001, video_fps: tokens per frame x (seconds x rate, rounded up, + 1), and charges that do not change.
    price = price_cards.current("qwen3.8-27b")
    frames = {rate: 30 * rate + 1 for rate in (1, 2)}
    costs = {
        rate: row_cost_nano(price, Usage(input_tokens=105 * frames[rate], clips=1, video_ms=30_000)) for rate in frames
    }
    assert costs[2] - costs[1] == 105 * 30 * 300


@pytest.mark.parametrize(
    ("model", "tokens_in", "tokens_out", "rows", "cost"),
    [
        # 100,000 rows of 1,000 tokens in and 200 out on text rates: $12 + $12.
        ("gemma4-12b", 1_000, 200, 100_000, 24.00),
        ("nemotron-3-nano-omni-30b", 1_000, 200, 100_000, 24.00),
        ("qwen3.8-27b", 1_000, 200, 100_000, 36.00),
        # Small jobs cost the minimum.
        ("gemma4-12b", 10, 10, 1, 0.05),
        ("nemotron-3-nano-omni-30b", 10, 10, 1, 0.06),
        ("qwen3.8-27b", 10, 10, 1, 0.12),
        ("laya", 3_000, 0, 1, 0.05),
        ("qwen3-embedding-8b", 100, 0, 1, 0.01),
    ],
)
def test_jobs_of_published_rates_cost_what_the_rates_say(model, tokens_in, tokens_out, rows, cost):
    price = price_cards.current(model)
    row = row_cost_nano(price, Usage(input_tokens=tokens_in, output_tokens=tokens_out))
    quote = quote_nano(price, rows=rows, input_tokens=rows * tokens_in, output_cap=tokens_out)
    charge = charge_nano(price, quote_nano=quote, delivered_nano=rows * row, delivered_rows=rows)
    assert charge == dollars(cost)
    assert 0 <= quote - charge <= NANO_PER_CENT


def test_the_realtime_column_is_another_price_and_null_is_not_sold():
    laya, gemma = price_cards.current("laya"), price_cards.current("gemma4-12b")
    # Reference 001: the example request bills 171 tokens at $0.033 per million.
    assert row_cost_nano(laya, Usage(input_tokens=171), "realtime") == 171 * 33
    assert laya.sells("realtime", media=False)
    assert not gemma.sells("realtime", media=False)
    for usage, column in [(Usage(input_tokens=1), "realtime"), (Usage(images=1), "realtime")]:
        with pytest.raises(NotSold, match="realtime"):
            row_cost_nano(gemma, usage, column)


def test_media_on_a_model_without_a_media_price_is_not_sold():
    with pytest.raises(NotSold, match="media"):
        row_cost_nano(price_cards.current("laya"), Usage(images=1))
    with pytest.raises(NotSold, match="media"):
        quote_nano(card(), rows=0, input_tokens=0, output_cap=1, media_rows=1, media=Usage(images=1))


def test_realtime_media_has_fees_of_its_own():
    price = media_card(realtime_media=Rates(input=1_000), realtime_fees=Fees(video_second=2_000_000))
    usage = Usage(input_tokens=MILLION, clips=1, video_ms=1_500)
    assert row_cost_nano(price, usage, "realtime") == 1_000 + 3


def test_half_a_minute_is_half_a_fee_and_a_row_is_rounded_up_once():
    price = media_card()
    assert row_cost_nano(price, Usage(video_ms=30_000, clips=0)) == 1
    exact = (30 * 13 + 300) * MILLION
    many = msgspec.structs.replace(price, fees=Fees(video_second=13 * MILLION, video_minute=600 * MILLION))
    assert row_cost_nano(many, Usage(video_ms=30_000)) == exact // MILLION


def test_a_shorter_window_multiplies_rates_and_fees_and_keeps_the_minimum():
    price = media_card(windows={"1h": 150})
    hour = price.within("1h")
    assert (hour.text, hour.media) == (
        Rates(input=180_000_000, cached=45_000_000, output=900_000_000),
        Rates(input=450, cached=113, output=2_250),
    )
    assert hour.fees == Fees(image=11, clip=17, video_second=20, video_minute=900, audio_minute=1_800)
    assert PriceCard.thaw(hour.frozen()) == hour
    assert (hour.minimum_job_cents, hour.percent("1h")) == (price.minimum_job_cents, 150)
    assert price.within("24h") == price
    for window, one in (("1h", card()), ("7d", price)):
        with pytest.raises(NotSold, match=window):
            one.within(window)


@given(cards(), rows_under_a_cap(), st.lists(st.tuples(*[st.integers(0, 10**6)] * 5), max_size=30), st.data())
def test_no_job_with_media_costs_more_than_its_quote(price, job, items, data):
    cap, rows = job
    dear = msgspec.structs.replace(
        price,
        media=Rates(input=price.text.input * 2, cached=price.text.cached, output=price.text.output),
        fees=Fees(*(data.draw(rates) for _ in range(5))),
    )
    sent = [Usage(n, data.draw(st.integers(0, n)), cap, i + 1, c, v, a) for n, i, c, v, a in items]
    quote = quote_nano(
        dear,
        rows=len(rows),
        input_tokens=sum(row.input_tokens for row in rows),
        output_cap=cap,
        media_rows=len(sent),
        media=sum(sent, Usage()),
    )
    assert sum(row_cost_nano(dear, row) for row in rows + sent) <= quote
