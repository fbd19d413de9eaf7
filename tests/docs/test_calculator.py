"""The price calculator counts and prices as the bill does, and takes no more than it can bear (reference 002)."""

import json
import uuid

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from anex.core.actors import system
from anex.core.errors import InvalidRequest
from anex.core.money import format_dollars
from anex.core.usage import Usage
from anex.docs import calculator
from anex.docs.calculator import Media
from anex.edge import CALCULATOR, RateLimit
from billing import price_cards
from inference import catalogue
from inference.backends import registry
from inference.requests.rows import RowOptions, parse
from inference.tokens import count_rows
from jobs.run import costs
from tests.factories import make_job, make_organization

EXAMPLE = "| 10,000 | 500 | 200, at most 400 | $0.43 | $0.26 |"
LENGTH = [(b"content-length", b"100")]
LINES = [
    json.dumps(
        {
            "custom_id": str(number),
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"messages": [{"role": "user", "content": "word " * number}]},
        }
    ).encode()
    for number in range(1, 31)
]


@pytest.fixture(autouse=True)
def served(db) -> None:
    for model in ("scripted", "scripted-embed", "scripted-decide"):
        registry.configure(
            model_id=model, base_url="http://127.0.0.1:9/v1", served_name=model, concurrency=1, actor=system("test")
        )


def post(**shape: object) -> str:
    asked = {"model": "scripted", "text": "three words here", "rows": 1000, "writes": 50, "may_write": 100} | shape
    return Client().post("/pricing", asked).content.decode()


def test_price_is_that_of_a_job_of_the_same_rows() -> None:
    model, card = catalogue.get("scripted"), price_cards.current("scripted")
    assert model
    assert card
    counts = calculator.count_file(model, b"\n".join(LINES[:4]))
    rows = [parse(line, model=model, options=RowOptions()) for line in LINES[:4]]
    assert counts == count_rows(model, rows, options=RowOptions())
    tokens = sum(count.input_tokens for count in counts if isinstance(count, Usage))
    shape = calculator.shape(counts, rows=4000, writes=50, may_write=100)
    job = make_job(make_organization(), row_count=4000, est_input_tokens=shape.text.sends.input_tokens * 4000)
    assert shape.text.sends.input_tokens == -(-tokens // 4)
    for price in calculator.prices(card, shape):
        assert price.held_nano == costs.quote_nano(card.within(price.window), job, output_cap=100)
        assert card.minimum_job_cents * 10**7 <= price.expected_nano <= price.held_nano
    assert [price.window for price in calculator.prices(card, shape)] == ["24h", "1h"]


def test_rows_with_media_are_priced_apart() -> None:
    model, card = catalogue.get("gemma4-12b"), price_cards.current("gemma4-12b")
    assert model
    assert card
    counts = [Usage(input_tokens=100), Usage(input_tokens=400, images=1)]
    (price,) = calculator.prices(card, calculator.shape(counts, rows=1000, writes=10, may_write=10))
    text, media = 500 * 100 * 120 + 500 * 10 * 600, 500 * 400 * 300 + 500 * 10 * 1500
    fees = 500 * 200_000
    assert price.held_nano == -(-(text + media + fees + 1000) // 10**7) * 10**7


def test_page_shows_tokens_and_both_prices() -> None:
    page = post(rows=2_000_000)
    model = catalogue.get("scripted")
    assert model
    (count,) = calculator.count_text(model, "three words here", questions=1, media=Media())
    tokens = count.input_tokens
    assert f"{tokens} input tokens a row" in page
    assert "50 written as usual, 100 at the most" in page
    card = price_cards.current("scripted")
    assert card
    shape = calculator.shape([count], rows=2_000_000, writes=50, may_write=100)
    for price in calculator.prices(card, shape):
        assert format_dollars(price.expected_nano) in page
        assert format_dollars(price.held_nano) in page
    assert format_dollars(2_000_000 * (tokens * 200 + 50 * 800)) in page


def test_programs_read_the_prices_as_markdown() -> None:
    for answer in (Client().get("/pricing.md"), Client().get("/pricing", headers={"Accept": "text/markdown"})):
        assert answer["Content-Type"] == "text/markdown; charset=utf-8"
        assert "| [`scripted`](/models/scripted) | all | $0.10 |" in answer.content.decode()


def test_htmx_is_given_the_answer_alone() -> None:
    answer = Client().post("/pricing", {"model": "scripted", "text": "a", "rows": 0}, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert "<html" not in answer.content.decode()
    assert "Rows: " in answer.content.decode()


def test_file_counts_as_the_average_of_its_first_rows() -> None:
    page = post(file=SimpleUploadedFile("rows.jsonl", b"\n".join(LINES)))
    assert f"the average of the {calculator.FIRST_ROWS} rows" in page
    assert "Line 1: " in post(file=SimpleUploadedFile("rows.jsonl", b'{"custom_id": 1}'))
    cut = b"\n".join([LINES[0], b"x" * calculator.MOST_BYTES])
    assert "input tokens a row;" in post(file=SimpleUploadedFile("rows.jsonl", cut))


def test_a_decision_reads_its_text_once_per_question() -> None:
    model = catalogue.get("scripted-decide")
    assert model
    once, four = (
        calculator.count_text(model, "some text", questions=questions, media=Media())[0].input_tokens
        for questions in (1, 4)
    )
    assert four == 4 * once


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ({"model": "qwen3-14b"}, "Select a valid choice"),
        ({"rows": 10_000_001}, "less than or equal to 10000000"),
        ({"text": "x" * (calculator.MOST_CHARACTERS + 1)}, "at most 50000 characters"),
        ({"images": 1}, "takes no image"),
    ],
)
def test_what_cannot_be_priced_is_said_in_the_form(shape: dict[str, object], said: str) -> None:
    page = post(**shape)
    assert said in page
    assert "calc-title" not in page


def test_file_without_a_whole_line_is_refused() -> None:
    model = catalogue.get("scripted")
    assert model
    with pytest.raises(InvalidRequest, match="no whole line"):
        calculator.count_file(model, b"x" * calculator.MOST_BYTES)


@pytest.mark.asyncio
async def test_edge_counts_who_calculates_and_not_who_reads() -> None:
    passed, refused = 0, []

    async def app(scope, receive, send) -> None:
        nonlocal passed
        passed += 1

    async def send(message: dict) -> None:
        refused.append(message.get("status"))

    edge = RateLimit(app)
    address = str(uuid.uuid4().int % 200)
    scope = {"type": "http", "path": CALCULATOR, "headers": LENGTH, "client": (f"10.9.8.{address}", 1)}
    for method, times in (("POST", 31), ("GET", 40)):
        for _ in range(times):
            await edge(scope | {"method": method}, None, send)
    assert passed == 70
    assert refused[0] == 429
    for headers in ([], [(b"content-length", b"1048577")]):
        refused.clear()
        await edge(scope | {"method": "POST", "headers": headers}, None, send)
        assert refused[0] == 413
    await edge.rates.close()


def test_example_jobs_of_the_page_are_priced_as_the_calculator_prices() -> None:
    page = Client().get("/docs/pricing", headers={"accept": "text/markdown"}).content.decode()
    assert f"| [`smollm2-135m-instruct`](/models/smollm2-135m-instruct) {EXAMPLE}" in page
