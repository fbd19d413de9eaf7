"""One trace from a request to the model server, live and as a job; and nothing that was sent in traces or logs."""

import json
import re
import secrets
from typing import Any

import httpx
import pytest

from tests.flows.observed import Watched, watched
from tests.https import Authority, Server
from tests.otlp import Told

# Whatever a customer sends has it in it, and so has what comes back from elsewhere.
MARK = "zebra" + secrets.token_hex(6)
SERVER, CLIENT, CONSUMER = 2, 3, 5
TASK = """
from anex.core import tracing
import django
django.setup()
from jobs.tasks import sweep
tracing.begin("asking", region="world")
with tracing.span("asks for a task"):
    sweep.delay()
"""


def begun() -> tuple[str, str]:
    """A trace as a client begins one, and its header."""
    trace = secrets.token_hex(16)
    return trace, f"00-{trace}-00f067aa0ba902b7-01"


def chat(text: str, **options: Any) -> dict[str, Any]:
    return {"model": "scripted", "messages": [{"role": "user", "content": f"{MARK} {text}"}], "max_tokens": 5} | options


def row(number: int) -> str:
    messages = [{"role": "user", "content": f"{MARK} {number}"}]
    whole = {"method": "POST", "url": "/v1/chat/completions", "body": {"messages": messages}}
    return json.dumps({"custom_id": f"{MARK}-{number}"} | whole)


def ask_live(stack: Watched, client: httpx.Client) -> None:
    """A whole and a streamed answer, each below the client's trace down to the model server."""
    for options in ({}, {"stream": True}):
        trace, header = begun()
        heard = len(stack.overheard.parents)
        answer = client.post(
            "/v1/chat/completions", json=chat("hi [[echo]]", **options), headers={"traceparent": header}
        )
        assert answer.status_code == 200, answer.text
        told = stack.collector.wait(lambda span, trace=trace: span.trace == trace, 3)
        by_name = {span.name: span for span in told}
        served, admitted, asked = (by_name[name] for name in ("POST chat", "admit", "ask a model server"))
        assert (served.parent, served.kind, served.service) == ("00f067aa0ba902b7", SERVER, "anex-web")
        assert (admitted.parent, asked.parent, asked.kind) == (served.id, served.id, CLIENT)
        assert stack.overheard.parents[heard:] == [f"00-{trace}-{asked.id}-01"]
        assert served.facts["anex.request"] == answer.headers["x-request-id"]
        assert served.facts["anex.organization"] == stack.organization_id
        assert served.facts["http.response.status_code"] == 200
        held = stack.query(
            "SELECT count(*) FROM billing_hold WHERE source = 'req:{}'".format(served.facts["anex.request"])
        )
        assert held == [(1,)]


def run_job(stack: Watched, client: httpx.Client, receiver: Server) -> str:
    """A job and its webhooks are one trace; a chunk is a span, and of its rows one."""
    trace, header = begun()
    heard = len(stack.overheard.parents)
    target = client.post("/batch/v1/inputs", json={"format": "jsonl"}).json()
    lines = "".join(row(number) + "\n" for number in range(40))
    sent = httpx.post(target["upload_url"], data=target["fields"], files={"file": (f"{MARK}.jsonl", lines)})
    assert sent.status_code == 204
    asked = {"input_id": target["id"], "model": "scripted", "max_output_tokens": 4}
    job: str = client.post("/batch/v1/jobs", json=asked, headers={"traceparent": header}).json()["id"]
    stack.wait_for(job, "cost_ready")
    stack.api("POST", f"/jobs/{job}/approve")
    stack.wait_for(job, "done")
    stack.result(job)
    [made] = stack.collector.wait(lambda span: span.name == "POST jobs" and span.trace == trace)
    webhooks = stack.collector.wait(lambda span: span.name == "webhook" and span.trace == trace, 5)
    [validated, rows, finalized] = (
        stack.collector.one(name, anex__job=job) for name in ("validate", "rows", "finalize")
    )
    alone = [span for span in stack.collector.wait(lambda span: span.name == "row") if span.parent == rows.id]
    assert {span.parent for span in (validated, rows, finalized, *webhooks)} == {made.id}
    assert {span.service for span in (validated, rows, finalized, *webhooks)} == {"anex-worker"}
    assert (rows.kind, rows.facts["anex.rows"], rows.facts["anex.model"], len(alone)) == (CONSUMER, 40, "scripted", 1)
    parents = stack.overheard.parents[heard:]
    assert {parent.split("-")[1] for parent in parents} == {trace}
    assert [parents.count(f"00-{trace}-{span.id}-01") for span in (rows, *alone)] == [39, 1]
    carried = {request.headers["traceparent"] for request in receiver.requests}
    assert carried == {f"00-{trace}-{span.id}-01" for span in webhooks}
    return job


def run_task(stack: Watched) -> None:
    """What asks for a task and the task are one trace."""
    stack.run(TASK)
    asked = stack.collector.one("asks for a task")
    ran = stack.collector.one("jobs.sweep")
    assert (ran.trace, ran.parent, ran.service, ran.failed) == (asked.trace, asked.id, "anex-worker", False)


def refuse_and_fail(stack: Watched, client: httpx.Client) -> None:
    """What goes wrong quotes what was sent, to whoever sent it."""
    wrong = ("/v1/chat/completions", "/v1/responses", "/openai/v1/chat/completions", "/realtime/v1/embeddings")
    statuses = {
        client.post(path, content=body, headers={"Content-Type": "application/json"}).status_code
        for path in (*wrong, "/batch/v1/jobs", "/batch/v1/inputs")
        for body in (f'{{"{MARK}": 1}}', f"{MARK}", f'{{"model": "{MARK}", "messages": [], "input": "{MARK}"}}')
    }
    assert statuses <= {400, 404, 415, 422}, statuses
    failing = [
        client.post("/v1/chat/completions", json=chat(f"[[{what}]]")).status_code for what in ("status 500", "cut")
    ]
    assert failing == [502, 200] or set(failing) <= {200, 500, 502, 503}, failing
    client.post("/v1/chat/completions", json=chat("x", tools=[{"type": "function", "function": {"name": MARK + "!"}}]))
    line = json.loads(row(1))
    line["body"]["model"] = "scripted"
    files = {"file": (f"{MARK}.jsonl", json.dumps(line) + f"\n{MARK}\n")}
    named = client.post("/v1/files", data={"purpose": "batch"}, files=files)
    assert named.status_code in (200, 400), named.text
    asked = {"input_file_id": MARK, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    client.post("/v1/batches", json=asked | {"metadata": {"k": MARK}})
    for header in (f"Bearer sk-{MARK}", f"Basic {MARK}"):
        client.get("/v1/models", headers={"Authorization": header})
        client.get(f"/batch/v1/jobs?cursor={MARK}", headers={"Authorization": header})


def use_the_console(origin: str) -> None:
    """Sign in with a wrong and with the right password; send every form of a key, a job and a webhook."""
    with httpx.Client(base_url=origin, follow_redirects=True) as browser:
        for password in (MARK, "correct horse battery"):
            page = browser.get("/accounts/login/").text
            token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[1]  # type: ignore[index]
            form = {"login": "ada@example.com", "password": password, "csrfmiddlewaretoken": token}
            page = browser.post("/accounts/login/", data=form).text
        assert browser.get("/dashboard", params={"q": MARK}).status_code == 200
        for path in ("/keys", "/webhooks", "/jobs/new", "/playground", "/settings"):
            browser.get(path, params={"q": MARK})
            form = {name: MARK for name in ("name", "url", "description", "prompt", "rows", "text")}
            browser.post(path, data=form | {"csrfmiddlewaretoken": browser.cookies["anex_csrf"]})


def check_lines(stack: Watched, job: str, receiver: Server) -> None:
    """Every line is an object, tells what it is about, and holds nothing that was sent."""
    assert [line for line in stack.log("web").splitlines() if line[:1] != "{"] == ["READY"]
    lines = [*stack.lines("web"), *stack.lines("worker-0")]
    whole = stack.log("web") + stack.log("worker-0")
    assert [line for line in whole.splitlines() if MARK in line] == []
    hidden = (stack.secret, stack.webhook_secret, "correct horse battery", "x-anex-signature")
    assert [text for text in hidden if text in whole] == []
    requests = [line for line in lines if line["logger"] == "anex.requests"]
    assert len(requests) > 40
    assert all(line["request"] and "?" not in line["path"] for line in requests)
    assert len({line["request"] for line in requests}) == len(requests)
    of_keys = [
        line for line in requests if line["path"].startswith(("/v1/chat", "/batch/v1/jobs")) and line["status"] == 200
    ]
    assert {line["organization"] for line in of_keys} == {stack.organization_id}
    work = [line for line in stack.lines("worker-0") if line["logger"].startswith("jobs.run")]
    assert all({"job", "webhook", "input", "task"} & line.keys() or "lease" in line["message"] for line in work), work
    assert {line["path"] for line in requests if line.get("job") == job} >= {f"/batch/v1/jobs/{job}"}


def check_spans(stack: Watched, told: list[Told]) -> None:
    """No attribute is text that was sent, nor a path or an address."""
    assert not [body for body in stack.collector.raw if MARK.encode() in body or stack.secret[-20:].encode() in body]
    assert {span.facts.get("http.route") for span in told} >= {"batch/v1/jobs", "keys"}
    words = {name for span in told for name, value in span.facts.items() if isinstance(value, str) and len(value) > 60}
    assert words <= {"http.route"}
    assert not any(name.startswith(("url.", "server.", "exception.")) for span in told for name in span.facts)


@pytest.mark.slow
def test_a_trace_leads_from_the_request_to_the_model_server_and_nothing_tells_what_was_sent(
    https_server: Server, authority: Authority
) -> None:
    https_server.answer("/hook", 200, MARK.encode())
    with watched(https_server, authority) as stack:
        origin = f"http://127.0.0.1:{stack.web_port}"
        with httpx.Client(base_url=origin, headers={"Authorization": f"Bearer {stack.secret}"}, timeout=30) as client:
            ask_live(stack, client)
            job = run_job(stack, client, https_server)
            run_task(stack)
            refuse_and_fail(stack, client)
            use_the_console(origin)
        check_lines(stack, job, https_server)
        check_spans(stack, list(stack.collector.spans))
