"""Embedding and decision jobs, from the file to the charge, by the pump in this process against the scripted engine."""

import json
import math
from typing import Any

import pytest

from accounts.models import Organization
from anex.core.actors import system
from anex.core.money import ceil_cents
from inference.backends import registry
from jobs.models import Job
from jobs.run.pump import Pump
from tests.inference.scripted_server import ScriptedServer
from tests.jobs.run.driver import approve, submit, validate
from tests.jobs.run.test_pump import result, wait_for

pytestmark = pytest.mark.django_db(transaction=True)

URGENT = {"type": "noul", "instructions": "Is it urgent?"}
TEAM = {"type": "choice", "instructions": "Which team?", "criteria": {"billing": "invoices", "other": None}}
ANGER = {"type": "score", "instructions": "How angry?", "criteria": ["calm", "annoyed", "angry"]}


@pytest.fixture
def served(engine: ScriptedServer) -> ScriptedServer:
    for task in ("embed", "decide"):
        registry.configure(
            model_id=f"scripted-{task}", base_url=engine.base_url, served_name="scripted", actor=system("test")
        )
    return engine


def line(url: str, custom_id: str, **body: Any) -> str:
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": url, "body": body})


def embedding(custom_id: str, text: str, **more: Any) -> str:
    return line("/v1/embeddings", custom_id, input=text, **more)


def decision(custom_id: str, state: Any, **questions: Any) -> str:
    return line("/v1/systemone", custom_id, state=state, questions=questions)


def quoted(organization: Organization, task: str, lines: list[str], **fields: Any) -> Job:
    defaults = {"model_id": f"scripted-{task}", "task_type": task, "requested_max_output_tokens": None}
    return wait_for(submit(organization, "\n".join(lines).encode(), **(defaults | fields)), "cost_ready", "failed")


def ended(job: Job) -> Job:
    return wait_for(approve(job), "done", "failed", "cancelled")


def test_every_text_gets_its_vector_in_order(acme: Organization, served: ScriptedServer, pump: Pump) -> None:
    job = ended(quoted(acme, "embed", [embedding(f"row-{number}", f"text {number}") for number in range(100)]))
    lines = result(job)
    assert [row["custom_id"] for row in lines] == [f"row-{number}" for number in range(100)]
    vectors = [row["response"]["body"]["data"][0]["embedding"] for row in lines]
    assert {len(vector) for vector in vectors} == {384}
    assert len({tuple(vector) for vector in vectors}) == 100
    assert (job.success_rows, job.error_rows) == (100, 0)


def test_an_embedding_job_is_counted_exactly_and_writes_nothing(
    acme: Organization, served: ScriptedServer, pump: Pump
) -> None:
    lines = [embedding("a", "one two three"), embedding("b", "four, five!")]
    job = quoted(acme, "embed", lines)
    assert (job.est_input_tokens, job.est_output_tokens, job.max_output_tokens) == (7, 0, 0)
    job = ended(job)
    used = [row["response"]["body"]["usage"]["prompt_tokens"] for row in result(job)]
    assert used == [3, 4]
    assert job.charge_cents == job.quote_cents == max(1, ceil_cents(7 * 20_000_000 // 1_000_000))


def test_a_row_names_its_own_width_and_the_vector_keeps_length_one(
    acme: Organization, served: ScriptedServer, pump: Pump
) -> None:
    lines = [embedding("job's", "a text"), embedding("own", "a text", dimensions=32)]
    of_the_job, own = result(ended(quoted(acme, "embed", lines, dimensions=64)))
    vectors = [row["response"]["body"]["data"][0]["embedding"] for row in (of_the_job, own)]
    assert [len(vector) for vector in vectors] == [64, 32]
    assert [math.fsum(number * number for number in vector) for vector in vectors] == [pytest.approx(1)] * 2
    scale = vectors[0][0] / vectors[1][0]
    assert vectors[1] == pytest.approx([number / scale for number in vectors[0][:32]])


def test_a_text_beyond_the_context_fails_the_job(acme: Organization, served: ScriptedServer) -> None:
    fits, too_long = embedding("fits", "word " * 8192), embedding("long", "word " * 8193)
    fields = {"model_id": "scripted-embed", "task_type": "embed", "requested_max_output_tokens": None}
    assert validate(submit(acme, fits.encode(), **fields)).status == "cost_ready"
    job = validate(submit(acme, f"{fits}\n{too_long}".encode(), **fields))
    assert (job.status, job.failure_code, job.failure_line) == ("failed", "invalid_input", 2)


def test_every_question_gets_an_answer_of_its_type(acme: Organization, served: ScriptedServer, pump: Pump) -> None:
    rows = [decision("a", {"body": "Refund me"}, urgent=URGENT, team=TEAM, anger=ANGER), decision("b", "x", u=URGENT)]
    job = ended(quoted(acme, "decide", rows))
    first, second = (row["response"]["body"] for row in result(job))
    assert {name: answer["type"] for name, answer in first["answers"].items()} == {
        "urgent": "noul",
        "team": "choice",
        "anger": "score",
    }
    assert sum(first["answers"]["team"]["probabilities"].values()) == pytest.approx(1)
    assert second["answers"].keys() == {"u"}
    assert (job.success_rows, job.format_error_rows) == (2, 0)


def test_a_decision_bills_its_text_once_per_question(acme: Organization, served: ScriptedServer, pump: Pump) -> None:
    rows = [decision("one", "a b c", u=URGENT), decision("two", {"a": "b"}, u=URGENT, t=TEAM)]
    job = quoted(acme, "decide", rows)
    job_done = ended(job)
    used = [row["response"]["body"]["usage"] for row in result(job_done)]
    assert sum(usage["input_tokens"] for usage in used) == job.est_input_tokens
    assert [usage["output_tokens"] for usage in used] == [0, 0]
    assert (job.est_output_tokens, job_done.charge_cents) == (0, job.quote_cents)


def test_a_refused_question_fails_its_row_alone(acme: Organization, served: ScriptedServer, pump: Pump) -> None:
    rows = [decision("good", "a", u=URGENT), decision("bad", "a", u={"type": "noul"}), decision("fine", "a", u=URGENT)]
    job = ended(quoted(acme, "decide", rows))
    good, bad, fine = result(job)
    assert (job.status, job.success_rows, job.error_rows, job.format_error_rows) == ("done", 2, 0, 1)
    assert (bad["response"]["status_code"], bad["error_type"]) == (400, "invalid_request_error")
    assert "instructions" in bad["error"]
    assert bad["response"]["body"]["error"]["message"] == bad["error"]
    assert good["error"] is None
    assert fine["error"] is None
    assert good["response"]["status_code"] == 200


def test_a_long_text_is_not_refused_for_a_decision(acme: Organization, served: ScriptedServer) -> None:
    state = "word " * 9_999
    fields = {"model_id": "scripted-decide", "task_type": "decide", "requested_max_output_tokens": None}
    assert validate(submit(acme, decision("a", state, u=URGENT).encode(), **fields)).status == "cost_ready"
