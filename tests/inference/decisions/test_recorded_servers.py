"""What System One servers answer, as their sources and references have it, and what becomes of it here."""

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from anex.core.usage import Usage
from inference import catalogue
from inference.backends.answers import Answer
from inference.backends.client import Client
from inference.backends.faults import ServerFailed
from inference.backends.registry import Server
from inference.requests import decision_answers, decisions
from jobs.run import judging

RECORDED = Path(__file__).parent / "recorded"
ROUTED = {"model": "qwen3", "reason": "the server that answered does not choose between checkpoints"}


def recorded(name: str) -> dict[str, Any]:
    return json.loads((RECORDED / f"{name}.json").read_text())


def row_of(exchange: dict[str, Any]) -> decisions.DecisionRow:
    model = catalogue.get("scripted-decide")
    assert model is not None
    return decisions.read("row-1", exchange["asked"], model=model)


@contextmanager
def replaying(exchange: dict[str, Any]) -> Iterator[tuple[Server, list[tuple[str, Any]]]]:
    seen: list[tuple[str, Any]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            body = json.dumps(exchange["answer"]).encode()
            self.send_response(exchange["status"])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Silence."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield Server(1, "laya", "world", f"http://127.0.0.1:{server.server_port}/v1", "served", "", 8, True), seen
        finally:
            server.shutdown()


async def ask(exchange: dict[str, Any]) -> tuple[Answer, Any]:
    with replaying(exchange) as (server, seen):
        async with Client() as client:
            body = decisions.write(row_of(exchange), served_name="served")
            answer = await client.complete(server, "/systemone", body, timeout_s=30)
    return answer, seen


@pytest.mark.parametrize("name", ["vllm_answer", "llama_answer", "laya_answer"])
async def test_an_answer_of_every_server_is_delivered_in_one_shape(name: str) -> None:
    exchange = recorded(name)
    answer, seen = await ask(exchange)
    assert seen == [("/v1/systemone", {"model": "served", **exchange["asked"]})]
    row = row_of(exchange)
    assert decision_answers.is_whole(row, answer.body)
    delivered = decision_answers.complete(row, answer.body, usage=answer.usage or Usage())

    assert list(delivered["answers"]) == list(row.questions)
    for question, made in zip(row.questions.values(), delivered["answers"].values(), strict=True):
        assert made["type"] == question["type"]
        assert made.keys() >= {question["type"], "probabilities", "confidence", "answer_confidence"}
        assert made["probabilities"].keys() == decisions.options(question).keys()
        assert sum(made["probabilities"].values()) == pytest.approx(1, abs=1e-12)
        assert made["answer_confidence"] == max(made["probabilities"].values())
    assert delivered["usage"] == {"input_tokens": exchange["answer"]["usage"]["input_tokens"], "output_tokens": 0}
    assert delivered["model"] == exchange["answer"]["model"]


async def test_what_vllm_says_beyond_the_contract_is_kept_and_its_names_are_not() -> None:
    exchange = recorded("vllm_answer")
    delivered = decision_answers.complete(row_of(exchange), exchange["answer"], usage=Usage(input_tokens=231))
    assert delivered["diagnostics"] == exchange["answer"]["diagnostics"]
    assert delivered["routing"] == ROUTED
    angry, theirs = delivered["answers"]["angry"], exchange["answer"]["answers"]["angry"]
    assert angry["probabilities"] == {"true": theirs["noul"], "false": 1 - theirs["noul"]}
    assert angry["confidence"] == max(angry["probabilities"].values()) != theirs["confidence"]
    assert delivered["answers"]["urgency"]["score"] == pytest.approx(exchange["answer"]["answers"]["urgency"]["score"])


async def test_the_routing_of_laya_is_passed_on_and_its_score_follows_from_its_probabilities() -> None:
    exchange = recorded("laya_answer")
    delivered = decision_answers.complete(row_of(exchange), exchange["answer"], usage=Usage(input_tokens=171))
    assert delivered["routing"] == {"model": "english", "reason": "..."}
    made = delivered["answers"]
    assert made["frustration"]["score"] == pytest.approx(1.3)
    assert made["frustration"]["legend"] == {"0": "calm", "1": "annoyed", "2": "angry"}
    assert [made[name]["answer_confidence"] for name in made] == pytest.approx([0.91, 0.88, 0.46])


@pytest.mark.parametrize("name", ["vllm_refusal", "llama_refusal"])
async def test_a_refused_question_is_a_line_of_status_400_with_the_servers_words(name: str) -> None:
    exchange = recorded(name)
    answer, _ = await ask(exchange)
    outcome = judging.refuse(0, row_of(exchange), answer)
    line = orjson.loads(outcome.line)
    message = exchange["answer"]["error"]["message"]
    assert (line["error"], line["error_type"]) == (message, "invalid_request_error")
    assert line["response"]["status_code"] == 400
    assert line["response"]["body"]["error"]["message"] == message
    assert outcome.count == "format_error"


async def test_a_server_that_cannot_decide_is_a_failed_server() -> None:
    with pytest.raises(ServerFailed, match="501"):
        await ask(recorded("vllm_other_model"))
