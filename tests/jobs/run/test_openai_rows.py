"""Rows of an OpenAI batch in the pump: each keeps its own cap, the quote takes the largest (reference 000)."""

import json
from typing import Any

import pytest

from accounts.models import Organization
from jobs.models import Job
from jobs.run.pump import Pump
from jobs.selectors import contents
from tests.jobs.run.driver import approve, chat_line, submit, validate
from tests.jobs.run.test_pump import result, wait_for

pytestmark = pytest.mark.django_db(transaction=True)

# Prompts of the scripted model count 6 tokens beside their words.
CONTEXT = 32_768


def line(custom_id: str, content: str = "hello", **body: Any) -> str:
    return chat_line(custom_id, content, model="scripted", **body)


def batch(organization: Organization, *lines: str) -> Job:
    data = "\n".join(lines).encode()
    return submit(organization, data, requested_max_output_tokens=None, row_profile="openai")


def reason(job: Job) -> str:
    found = contents.failure(job)
    return found.reason if found else ""


def test_a_batch_is_quoted_at_the_largest_cap_without_a_sample(acme: Organization, served: None) -> None:
    job = validate(
        batch(acme, line("a", max_tokens=30), line("b", max_completion_tokens=1_000), line("c", max_tokens=5))
    )
    assert (job.status, job.max_output_tokens, job.est_output_tokens) == ("cost_ready", 1_000, 3_000)


def test_rows_without_a_cap_are_quoted_at_the_model_s_default(acme: Organization, served: None) -> None:
    assert validate(batch(acme, line("a"), line("b", max_tokens=10))).max_output_tokens == 4_096


def test_a_default_cap_gives_way_to_a_long_prompt(acme: Organization, served: None) -> None:
    job = validate(batch(acme, line("a", "word " * (CONTEXT - 106)), line("b", max_tokens=10)))
    assert (job.status, job.max_output_tokens) == ("cost_ready", 100)


def test_a_named_cap_that_does_not_fit_fails_the_batch_naming_the_row(acme: Organization, served: None) -> None:
    job = validate(batch(acme, line("a"), line("b", "word " * (CONTEXT - 106), max_tokens=101)))
    assert job.status == "failed"
    assert reason(job) == (
        "Line 2: Row 'b' is too long: 32,668 input tokens and up to 101 output tokens exceed the 32,768-token context "
        "of model 'scripted'. Shorten the row or lower its max_tokens."
    )


def test_a_cap_that_does_not_fit_is_named_as_its_protocol_does(acme: Organization, served: None) -> None:
    body = {"model": "scripted", "input": "word " * (CONTEXT - 106), "max_output_tokens": 101}
    asked = {"custom_id": "b", "method": "POST", "url": "/v1/responses", "body": body}
    assert reason(validate(batch(acme, json.dumps(asked)))).endswith("Shorten the row or lower its max_output_tokens.")


def test_every_row_is_answered_within_its_own_cap_and_settings(acme: Organization, engine: Any, pump: Pump) -> None:
    job = batch(
        acme,
        line("short", "[[tokens 50]]", max_tokens=7),
        line("long", "[[tokens 50]]", max_tokens=80),
        line("full", "[[tokens 300]] " + "word " * (CONTEXT - 140)),
        line("quiet", "[[think 20]]", reasoning={"enabled": True, "exclude": True}),
        line("loud", "[[think 20]]", reasoning={"enabled": True}),
    )
    job = wait_for(approve(wait_for(job, "cost_ready")), "done")
    rows = {row["custom_id"]: row["response"]["body"] for row in result(job)}
    written = {name: body["usage"]["completion_tokens"] for name, body in rows.items()}
    assert (written["short"], written["long"]) == (7, 50)
    assert 100 < written["full"] < 134
    assert "reasoning_content" not in rows["quiet"]["choices"][0]["message"]
    assert rows["loud"]["choices"][0]["message"]["reasoning_content"]
    assert (job.success_rows, job.truncated_rows, job.error_rows) == (3, 2, 0)
    assert (job.charge_cents or 0) <= (job.quote_cents or 0)


def test_a_line_of_another_model_is_named(acme: Organization, served: None) -> None:
    other = json.loads(line("b"))
    other["body"]["model"] = "scripted-embed"
    job = validate(batch(acme, line("a"), json.dumps(other)))
    assert reason(job).startswith("Line 2: body.model is 'scripted-embed'")


def test_a_line_of_more_than_32_mib_is_refused(acme: Organization, served: None) -> None:
    job = validate(batch(acme, line("a"), line("b", "x" * (32 << 20))))
    assert reason(job) == "Line 2: The line is longer than 32 MiB."
