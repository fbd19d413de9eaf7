"""What a quote says beside its ceiling: the usual cost, and the time a job will take."""

from typing import Any

import pytest

from accounts.models import Organization
from anex.core.usage import Usage
from billing import price_cards, pricing
from jobs.expectation import Mean
from jobs.models import Job
from jobs.run import costs
from jobs.run.pump import Pump
from jobs.selectors import paces
from tests.factories import make_job
from tests.jobs.run.driver import approve, chat_line, submit, validate
from tests.jobs.run.test_pump import wait_for

PACE = {"startup_seconds": 60.0, "tokens_per_second": 2.0, "tokens_per_row": 8.0}


def expected(job: Job) -> tuple[int | None, int | None, int | None]:
    return job.expected_cost_low_cents, job.expected_cost_cents, job.expected_cost_high_cents


@pytest.mark.django_db(transaction=True)
def test_a_sample_says_what_the_job_will_usually_cost_and_how_long_it_takes(
    acme: Organization, engine: Any, pump: Pump
) -> None:
    make_job(acme, model_id="scripted", status="done", **PACE)
    prompts = [f"[[tokens {100 + 60 * (row % 50)}]] say {row}" for row in range(300)]
    lines = "\n".join(chat_line(f"row-{row}", prompt) for row, prompt in enumerate(prompts))
    job = wait_for(submit(acme, lines.encode(), requested_max_output_tokens=None), "cost_ready", "failed")
    low, usual, high = expected(job)
    assert 0 < low < usual < high < job.quote_cents
    assert job.est_processing_seconds > 60 + 300 * 800 / 2


@pytest.mark.django_db(transaction=True)
def test_a_finished_job_leaves_its_pace(acme: Organization, engine: Any, pump: Pump) -> None:
    lines = "\n".join(chat_line(f"row-{row}", f"[[tokens 10]] say {row}") for row in range(200))
    job = wait_for(submit(acme, lines.encode()), "cost_ready")
    assert (expected(job), job.est_processing_seconds) == ((None, None, None), None)
    wait_for(approve(job), "done")
    (pace,) = paces.recent(model_id="scripted", region="world")
    assert pace.tokens_per_row == 10
    assert pace.tokens_per_second > 0
    assert paces.recent(model_id="scripted", region="eu") == []


@pytest.mark.django_db
def test_only_the_last_jobs_of_a_model_are_looked_at(acme: Organization, django_assert_num_queries: Any) -> None:
    for _ in range(paces.RECENT_JOBS + 2):
        make_job(acme, model_id="scripted", status="done", **PACE)
    make_job(acme, model_id="scripted", status="cancelled", **PACE)
    with django_assert_num_queries(1):
        assert len(paces.recent(model_id="scripted", region="world")) == paces.RECENT_JOBS


@pytest.mark.django_db
def test_a_job_that_writes_nothing_costs_exactly_its_quote(acme: Organization) -> None:
    line = '{"custom_id":"a","method":"POST","url":"/v1/embeddings","body":{"input":"one two"}}'
    make_job(acme, model_id="scripted-embed", status="done", **PACE)
    job = validate(
        submit(acme, line.encode(), model_id="scripted-embed", task_type="embed", requested_max_output_tokens=None)
    )
    assert expected(job) == (job.quote_cents,) * 3
    assert job.est_processing_seconds == 60 + 2 / 2


@pytest.mark.parametrize(
    ("means", "cents"),
    [((100, 50, 200), (44, 26, 80)), ((0.1, 0, 300), (9, 8, 90))],
)
def test_the_usual_cost_keeps_between_minimum_and_quote(means: tuple[float, ...], cents: tuple[int, ...]) -> None:
    card = pricing.PriceCard(
        model="m",
        starts_at=price_cards.current("scripted").starts_at,
        text=pricing.Rates(input=100_000_000, output=400_000_000),
        media=pricing.Rates(input=200_000_000, output=800_000_000),
    )
    media = Usage(input_tokens=200_000, images=100)
    job = Job(row_count=8_000, media_rows=1_000, est_input_tokens=600_000, est_media=_builtin(media))
    found = costs.expected(card, job, written=Mean(*means), quote_cents=90)
    assert (found.expected_cost_cents, found.expected_cost_low_cents, found.expected_cost_high_cents) == cents


def _builtin(usage: Usage) -> dict[str, int]:
    return {name: getattr(usage, name) for name in Usage.__dataclass_fields__}
