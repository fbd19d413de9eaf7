"""Small batch jobs on vLLM: what is counted here is what the server counts, and what it answers is delivered."""

import json
from typing import Any

from tests.faults.books import assert_books_agree
from tests.vllm.conftest import CHAT, EMBED, NARROW, Platform

SCHEMA = {"type": "object", "properties": {"city": {"enum": ["Rome", "Oslo"]}}, "required": ["city"]}
FORM = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}


def line(number: int, url: str, body: dict[str, Any]) -> str:
    return json.dumps({"custom_id": f"row-{number}", "method": "POST", "url": url, "body": body})


def test_chat_job(platform: Platform) -> None:
    bodies = [{"messages": [{"role": "user", "content": f"Say {number}."}]} for number in range(6)]
    bodies[1]["response_format"] = FORM
    bodies[2]["chat_template_kwargs"] = {"enable_thinking": True}
    lines = [line(number, "/v1/chat/completions", body) for number, body in enumerate(bodies)]
    job, answered = run(platform, lines, model=CHAT, max_output_tokens=120, reasoning_budget=30)
    read = sum(row["usage"]["prompt_tokens"] for row in answered)
    assert read == job["est_input_tok"]
    form = json.loads(answered[1]["choices"][0]["message"]["content"])
    assert form["city"] in ("Rome", "Oslo")
    assert answered[2]["choices"][0]["message"]["reasoning_content"]


def test_embedding_jobs(platform: Platform) -> None:
    lines = [line(number, "/v1/embeddings", {"input": f"text {number}"}) for number in range(4)]
    for model, width in ((EMBED, 384), (NARROW, 64)):
        job, answered = run(platform, lines, model=model, dimensions=width)
        assert {len(row["data"][0]["embedding"]) for row in answered} == {width}
        assert sum(row["usage"]["prompt_tokens"] for row in answered) == job["est_input_tok"]


def run(platform: Platform, lines: list[str], **options: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The finished job and the bodies of its answers, in order."""
    stack = platform.stack
    job_id = stack.submit(lines, **options)
    priced = stack.wait_until_priced(job_id)
    assert priced["status"] == "cost_ready", priced
    stack.api("POST", f"/jobs/{job_id}/approve")
    stack.wait_for(job_id, "done")
    job = assert_books_agree(stack, job_id, lines)
    assert job["error_rows"] == 0
    return job, [row["response"]["body"] for row in stack.result(job_id)]
