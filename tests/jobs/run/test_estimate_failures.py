"""The ways in which an estimate fails (reference 001, failure_reason); each sentence says what helps."""

from typing import Any

import pytest

from accounts.models import Organization
from billing.selectors import balances
from jobs.run.pump import Pump
from tests.jobs.run.driver import chat_line, submit
from tests.jobs.run.test_pump import wait_for
from tests.jobs.run.test_validation import reason

pytestmark = pytest.mark.django_db(transaction=True)

FAILURES = {
    "rows need more output than the model can generate": (
        ["[[tokens 9000]] say", *["[[tokens 9]] say"] * 9],
        {},
        ("need more output tokens than the 4,096", "Set max_output_tokens"),
    ),
    "reasoning runs too long": (
        ["[[think 9000]] say"] * 2 + ["[[think 9]] say"] * 8,
        {"reasoning": True},
        ("reasoning runs too long", "Set reasoning_budget, or set reasoning to false"),
    ),
    "the typical answer is cut off": (
        ["[[tokens 9000]] say"] * 5 + ["[[tokens 9]] say"] * 5,
        {},
        ("typical answer hits", "4,096", "Set max_output_tokens to accept cut answers"),
    ),
    "answers do not fit under the cap beside thinking": (
        ["[[think 50]] [[tokens 290]] say"] * 4,
        {"reasoning": True, "requested_max_output_tokens": 300},
        ("answers alone do not fit", "they need 290", "Raise max_output_tokens", "reasoning_budget (0 for no cap)"),
    ),
    "nothing can be measured": (
        ["[[status 400]] say"] * 4,
        {},
        ("We could not prepare a price for this job automatically", "Set max_output_tokens"),
    ),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_job_that_cannot_be_sized_fails_free_with_a_way_out(
    acme: Organization, engine: Any, pump: Pump, case: str
) -> None:
    prompts, fields, words = FAILURES[case]
    lines = [chat_line(f"row-{row}", f"{prompt} {row}") for row, prompt in enumerate(prompts)]
    job = submit(acme, "\n".join(lines).encode(), **({"requested_max_output_tokens": None} | fields))
    job = wait_for(job, "cost_ready", "failed")
    assert (job.status, job.failure_code, job.charge_cents) == ("failed", "invalid_input", 0)
    assert [word for word in words if word not in reason(job)] == []
    assert balances.get(acme.pk).held_nano == 0
