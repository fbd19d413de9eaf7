"""The thinking budget that is estimated where none was set (reference 001, reasoning_budget)."""

from typing import Any

import pytest

from accounts.models import Organization
from inference.counting.words import count_words
from jobs.models import Chunk, Job
from jobs.run.judging import thinking_of
from jobs.run.pump import Pump
from jobs.selectors import contents
from jobs.storage import keys, store
from tests.jobs.run.driver import approve, chat_line, submit, validate
from tests.jobs.run.test_pump import result, wait_for

pytestmark = pytest.mark.django_db(transaction=True)

ON, OFF = {"chat_template_kwargs": {"enable_thinking": True}}, {"chat_template_kwargs": {"enable_thinking": False}}


def file_of(*lines: str) -> bytes:
    return "\n".join(lines).encode()


def thoughts(job: Job) -> list[int]:
    return [count_words(thinking_of(line["response"]["body"])) for line in result(job)]


def test_cap_and_budget_come_from_one_sample_and_leave_the_answers_whole(
    acme: Organization, engine: Any, pump: Pump
) -> None:
    lines = [chat_line(f"row-{row}", f"[[think {150 + row}]] [[tokens 90]] say {row}") for row in range(40)]
    job = submit(acme, file_of(*lines), requested_max_output_tokens=None, reasoning=True)
    job = wait_for(job, "cost_ready", "failed")
    assert (job.reasoning_budget, job.estimated_reasoning_budget) == (None, 192)
    assert job.max_output_tokens == 192 + 24 + 96
    job = wait_for(approve(job), "done", "failed")
    assert (job.success_rows, job.truncated_rows) == (40, 0)
    assert thoughts(job) == [150 + row for row in range(40)]


def test_thinking_is_cut_to_fit_a_given_cap_and_every_row_answers(acme: Organization, engine: Any, pump: Pump) -> None:
    lines = [chat_line(f"row-{row}", f"[[think 900]] [[tokens 30]] say {row}") for row in range(30)]
    lines.append(chat_line("does not think", "[[tokens 30]] say", **OFF))
    job = submit(acme, file_of(*lines), requested_max_output_tokens=300, reasoning=True)
    job = wait_for(job, "cost_ready", "failed")
    assert (job.max_output_tokens, job.estimated_reasoning_budget) == (300, 300 - 24 - 64)
    job = wait_for(approve(job), "done", "failed")
    assert (job.success_rows, job.truncated_rows, job.error_rows) == (31, 0, 0)
    assert thoughts(job) == [212] * 30 + [0]


def test_a_server_without_usage_has_its_thinking_counted_and_billed(
    acme: Organization, engine: Any, pump: Pump
) -> None:
    line = chat_line("row", "[[think 100]] [[tokens 20]] [[usage absent]] say")
    job = submit(acme, file_of(line), requested_max_output_tokens=None, reasoning=True)
    job = wait_for(job, "cost_ready", "failed")
    assert (job.estimated_reasoning_budget, job.max_output_tokens) == (112, 112 + 24 + 64)
    sample = Chunk.objects.get(job=job, kind="sample").parts.get()
    assert (sample.output_tokens, sample.lengths) == (120, [[120, 100, 0]])


@pytest.mark.parametrize(
    ("bodies", "fields"),
    [
        ([{}], {}),
        ([OFF], {}),
        ([ON], {"reasoning": False}),
        ([ON], {"reasoning_budget": 0}),
        ([ON], {"reasoning_budget": 16}),
        ([ON], {"has_response_format": True}),
    ],
)
def test_no_sample_where_only_a_budget_is_missing_and_none_would_be_used(
    acme: Organization, bodies: list[dict[str, Any]], fields: dict[str, Any]
) -> None:
    lines = [chat_line(f"row-{row}", **body) for row, body in enumerate(bodies)]
    job = submit(acme, file_of(*lines), requested_max_output_tokens=100, **fields)
    if job.has_response_format:
        store().put(keys.response_format(job.pk), b'{"type": "json_object"}')
    job = validate(job)
    assert (job.status, job.estimated_reasoning_budget) == ("cost_ready", None)
    assert not Chunk.objects.filter(job=job, kind="sample").exists()


@pytest.mark.parametrize(("second", "reasoning"), [(ON, None), ({}, True)])
def test_a_sample_where_a_row_or_the_job_turns_thinking_on(
    acme: Organization, second: dict[str, Any], reasoning: bool | None
) -> None:
    lines = [chat_line("first"), chat_line("second", **second)]
    job = validate(submit(acme, file_of(*lines), requested_max_output_tokens=100, reasoning=reasoning))
    assert job.status == "estimating"
    assert Chunk.objects.filter(job=job, kind="sample").exists()


def test_an_estimate_is_not_taken_for_a_wish(acme: Organization) -> None:
    job = submit(acme, file_of(chat_line()), estimated_reasoning_budget=200)
    options = contents.row_options(job)
    assert (options.reasoning_budget, options.estimated_budget) == (None, 200)
