"""Batches in the pump (reference 000, batch status and results): what becomes of every request, and of the money."""

import json
from datetime import timedelta
from typing import Any

import pytest

from accounts.models import Organization
from anex.core import clock
from anex.core.actors import Actor, system
from anex.core.money import cents_to_nano
from billing.selectors import balances
from inference.backends import registry
from jobs import tasks
from jobs.models import Job, JobEvent, WebhookEvent
from jobs.run.pump import Pump
from jobs.services import batch_approvals
from jobs.services import batches as services
from tests.console import scenes
from tests.factories import grant_credits, make_key
from tests.jobs import batches
from tests.jobs.batches import line
from tests.jobs.run.driver import validate
from tests.jobs.run.test_pump import wait_for, wait_until

pytestmark = pytest.mark.django_db(transaction=True)
STOPPED = 150  # more than can be sent until a worker sees that it is to stop
SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object", "required": ["a"]}}}


def run(organization: Organization, *lines: str) -> Job:
    return wait_for(batches.create(organization, *lines), "done", "failed", "cancelled")


def test_what_succeeds_and_what_fails_come_apart_in_their_order(acme: Organization, engine: Any, pump: Pump) -> None:
    scenes.endpoint(acme)
    before = balances.get(acme.pk)
    job = run(
        acme,
        line("z", "say z"),
        line("refused", "[[status 400]]"),
        line("cut", "[[tokens 50]]", max_tokens=3),
        line('ä"\\', "[[think 5]]", reasoning={"enabled": True}),
        line("broken", "[[echo]] no JSON", response_format=SCHEMA, max_tokens=64),
        line("a", "say a"),
    )
    files, shown = batches.delivered(job), batches.shown(job)
    assert (shown["status"], shown["errors"]) == ("completed", None)
    assert shown["request_counts"] == {"total": 6, "completed": 4, "failed": 2}
    assert batches.ids(files["output"]) == ["z", "cut", 'ä"\\', "a"]
    assert batches.ids(files["error"]) == ["refused", "broken"]
    first, cut, thought, _ = files["output"]
    assert set(first) == {"id", "custom_id", "response", "error"}
    assert (first["error"], first["response"]["status_code"]) == (None, 200)
    assert first["id"] == f"batch_req_{first['response']['request_id']}"
    assert len({entry["id"] for lines in files.values() for entry in lines}) == 6
    (choice,) = first["response"]["body"]["choices"]
    assert set(choice) == {"index", "message", "logprobs", "finish_reason"}
    assert set(choice["message"]) == {"role", "content", "refusal"}
    assert cut["response"]["body"]["choices"][0]["finish_reason"] == "length"
    assert thought["response"]["body"]["choices"][0]["message"]["reasoning_content"]
    refused, broken = files["error"]
    assert (refused["response"], refused["error"]["code"]) == (None, "invalid_request_error")
    assert (broken["response"]["status_code"], broken["error"]["code"]) == (422, "response_format_unmet")
    usages = [entry["response"]["body"]["usage"] for entry in (*files["output"], broken)]
    assert shown["usage"]["input_tokens"] == sum(usage["prompt_tokens"] for usage in usages)
    assert shown["usage"]["output_tokens"] == sum(usage["completion_tokens"] for usage in usages)
    assert shown["usage"]["output_tokens_details"] == {"reasoning_tokens": 5}
    after = balances.get(acme.pk)
    assert before.balance_nano - after.balance_nano == cents_to_nano(job.charge_cents or 0) > after.held_nano == 0
    told = WebhookEvent.objects.filter(job=job).order_by("at").values_list("type", flat=True)
    assert list(told) == ["submitted", "estimating", "cost_ready", "in_progress", "completed"]


def test_a_batch_of_which_every_request_fails_has_no_output_and_is_free(
    acme: Organization, engine: Any, pump: Pump
) -> None:
    job = run(acme, line("a", "[[status 400]]"), line("b", "[[status 400]]"))
    shown = batches.shown(job)
    assert (shown["status"], shown["output_file_id"], job.charge_cents) == ("completed", None, 0)
    assert shown["request_counts"] == {"total": 2, "completed": 0, "failed": 2}
    assert batches.ids(batches.delivered(job)["error"]) == ["a", "b"]


def test_two_batches_with_equal_custom_ids_at_once_keep_their_answers(
    acme: Organization, globex: Organization, engine: Any, pump: Pump
) -> None:
    grant_credits(globex)
    made = {
        name: batches.create(owner, *(line(str(row), f"[[echo]] {name} {row}", max_tokens=64) for row in range(100)))
        for name, owner in (("red", acme), ("blue", acme), ("green", globex))
    }
    for name, job in made.items():
        wait_for(job, "done", "failed")
        (lines,) = batches.delivered(job).values()
        said = [entry["response"]["body"]["choices"][0]["message"]["content"].strip() for entry in lines]
        assert said == [f"{name} {row}" for row in range(100)]
        assert batches.ids(lines) == [str(row) for row in range(100)]


@pytest.mark.parametrize(("stop", "status"), [("cancel", "cancelled"), ("expire", "expired")])
def test_a_stopped_batch_delivers_and_bills_what_finished(
    acme: Organization, engine: Any, pump: Pump, stop: str, status: str
) -> None:
    lines = [line(str(row), f"[[sleep {0 if row < 8 else 1_000}]] say") for row in range(STOPPED)]
    job = batches.create(acme, *lines)
    wait_until(lambda: bool(batches.view(job).finished.completed))
    if stop == "cancel":
        services.cancel(organization_id=acme.pk, job_id=job.pk, actor=system("test"))
        assert batches.shown(job)["status"] in ("cancelling", "cancelled")
    else:
        Job.objects.filter(pk=job.pk).update(created_at=clock.now() - timedelta(hours=24))
        services.expire(clock.now())
        assert batches.shown(job)["status"] in ("finalizing", "expired")
    job = wait_for(job, "cancelled")
    files, shown = batches.delivered(job), batches.shown(job)
    assert shown["status"] == status
    done, missed = batches.ids(files["output"]), batches.ids(files["error"])
    assert sorted([*done, *missed], key=int) == [str(row) for row in range(STOPPED)]
    assert {entry["error"]["code"] for entry in files["error"]} == {f"batch_{status}"}
    assert shown["request_counts"] == {"total": STOPPED, "completed": len(done), "failed": 0}
    assert shown[f"{status}_at"] is not None
    assert (job.charge_cents or 0) >= 1
    assert balances.get(acme.pk).held_nano == 0


@pytest.mark.parametrize(
    ("url", "model_id", "body", "answer"),
    [
        ("/v1/embeddings", "scripted-embed", {"input": "x", "dimensions": 64}, "data"),
        ("/v1/responses", "scripted", {"input": "x", "max_output_tokens": 8}, "output"),
        ("/v1/completions", "scripted", {"prompt": "x", "max_tokens": 8}, "choices"),
        (
            "/v1/systemone",
            "scripted-decide",
            {"state": "x", "questions": {"q": {"type": "noul", "instructions": "Is it?"}}, "lang": "en"},
            "answers",
        ),
    ],
)
def test_other_requests_are_batches_too(
    acme: Organization, engine: Any, pump: Pump, url: str, model_id: str, body: dict[str, Any], answer: str
) -> None:
    registry.configure(model_id=model_id, base_url=engine.base_url, served_name=model_id, actor=system("test"))
    lines = [
        json.dumps({"custom_id": str(row), "method": "POST", "url": url, "body": {"model": model_id, **body}})
        for row in range(3)
    ]
    job = wait_for(batches.create(acme, *lines, model_id=model_id, endpoint=url), "done", "failed")
    assert batches.shown(job)["request_counts"] == {"total": 3, "completed": 3, "failed": 0}
    (output,) = batches.delivered(job).values()
    assert batches.ids(output) == ["0", "1", "2"]
    assert all(entry["response"]["body"][answer] for entry in output)


def test_each_request_keeps_its_cap_and_the_quote_takes_the_largest(
    acme: Organization, engine: Any, pump: Pump
) -> None:
    job = run(acme, *(line(str(cap), "[[tokens 2000]]", max_tokens=cap) for cap in (5, 900, 20)))
    written = [entry["response"]["body"]["usage"]["completion_tokens"] for entry in batches.delivered(job)["output"]]
    assert written == [5, 900, 20]
    assert (job.max_output_tokens, job.est_output_tokens) == (900, 2_700)
    assert (job.charge_cents or 0) <= (job.quote_cents or 0)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([line("a"), line("a")], ("duplicate_custom_id", 2, "custom_id")),
        ([line("a"), json.dumps(json.loads(line("b")) | {"url": "/v1/embeddings"})], ("invalid_url", 2, "url")),
        ([line("a"), line("b").replace('"scripted"', '"other"')], ("other_model", 2, "body.model")),
        ([line("a"), line("b", messages=[{"role": "king"}])], ("invalid_role", 2, "body.messages[0].role")),
        ([""], ("empty_file", None, None)),
    ],
)
def test_a_file_that_cannot_be_run_fails_naming_code_line_and_param(
    acme: Organization, served: None, lines: list[str], problem: tuple[str, int | None, str | None]
) -> None:
    shown = batches.shown(validate(batches.create(acme, *lines)))
    assert (shown["status"], shown["errors"]["object"]) == ("failed", "list")
    (error,) = shown["errors"]["data"]
    assert (error["code"], error["line"], error["param"]) == problem
    assert error["message"]
    assert (shown["failed_at"] is None, shown["usage"], shown["output_file_id"]) == (False, None, None)


def costly(organization: Organization, **fields: Any) -> Job:
    """Validated, with a quote of five cents."""
    lines = (line(str(row), max_tokens=2_000) for row in range(60))
    return validate(batches.create(organization, *lines, **fields))


def test_an_approval_that_the_balance_forbids_is_tried_again(globex: Organization, served: None) -> None:
    grant_credits(globex, 1)
    job = costly(globex)
    assert batches.shown(job)["status"] == "validating"
    assert (job.status, job.approved_at, balances.get(globex.pk).held_nano) == ("cost_ready", None, 0)
    assert batch_approvals.approve_waiting(clock.now()) == 0
    grant_credits(globex, 10_000)
    tasks.sweep()
    assert batches.shown(job)["status"] == "in_progress"
    assert JobEvent.objects.get(job=job, type="in_progress").actor == "system:batch"
    assert balances.get(globex.pk).held_nano == cents_to_nano(job.quote_cents or 0)
    assert batch_approvals.approve_waiting(clock.now()) == 0


def test_a_suspended_organization_s_batch_waits(acme: Organization, served: None) -> None:
    job = batches.create(acme, line("a"))
    Organization.objects.update(suspended_at=clock.now())
    assert validate(job).status == "cost_ready"
    assert batch_approvals.approve_waiting(clock.now()) == 0
    Organization.objects.update(suspended_at=None)
    assert batch_approvals.approve_waiting(clock.now()) == 1


def test_a_batch_past_a_ceiling_of_its_key_waits(acme: Organization, served: None) -> None:
    key = make_key(acme, monthly_ceiling_cents=1)
    job = costly(acme, actor=Actor("key", key.caller.key_id))
    assert (job.status, job.quote_cents) == ("cost_ready", 5)
    assert batch_approvals.approve_waiting(clock.now()) == 0
    assert balances.get(acme.pk).held_nano == 0


def test_a_batch_that_is_never_approved_expires_free_of_charge_a_day_after_it_was_made(
    globex: Organization, served: None
) -> None:
    grant_credits(globex, 1)
    job = costly(globex)
    assert job.approval_expires_at == job.created_at + timedelta(hours=24)
    yesterday = clock.now() - timedelta(hours=24)
    Job.objects.filter(pk=job.pk).update(created_at=yesterday, approval_expires_at=yesterday)
    tasks.sweep()
    shown, job = batches.shown(job), batches.view(job).job
    assert (shown["status"], job.charge_cents, balances.get(globex.pk).held_nano) == ("expired", 0, 0)
    assert (shown["expired_at"] is None, shown["output_file_id"], shown["error_file_id"]) == (False, None, None)


def test_a_batch_priced_after_its_window_is_not_approved(acme: Organization, served: None) -> None:
    job = batches.create(acme, line("a"))
    Job.objects.filter(pk=job.pk).update(created_at=clock.now() - timedelta(hours=25))
    assert validate(job).status == "cost_ready"
    tasks.sweep()
    assert batches.shown(job)["status"] == "expired"
