"""Counting by words, by a model server, and what is said where counting cannot be done."""

import json
import pickle
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from gguf import GGUFWriter
from jinja2.exceptions import SecurityError

from anex.core.errors import Unavailable
from inference.catalogue import Model, get
from inference.catalogue.schema import PackagedWeights
from inference.catalogue.weights import locate
from inference.counting import gguf
from inference.counting.template import Refusal, compile_template
from inference.counting.words import count_messages
from inference.refusals import RowError
from inference.requests.options import RowOptions
from inference.requests.rows import ChatRow as Row
from inference.tokens import count_rows

REFUSAL = {"error": {"message": "Conversation roles must alternate", "type": "BadRequestError", "code": 400}}


def model_named(model_id: str) -> Model:
    model = get(model_id)
    assert model is not None
    return model


def row(*contents: str, **kwargs: Any) -> Row:
    return Row("r", [{"role": "user", "content": content} for content in contents], kwargs, None, None)


@dataclass
class FakeServer:
    """Speaks `/tokenize` as vLLM does; the text of a row names the fault it shows."""

    base_url: str
    served_name: str = "served"
    api_key: str = "secret"
    seen: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str | None] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)
    in_flight: int = 0
    peak: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    together: threading.Barrier = field(default_factory=lambda: threading.Barrier(16, timeout=30))

    def answer(self, question: dict[str, Any]) -> tuple[int, bytes]:
        text = question["messages"][0]["content"]
        if text == "together":
            self.together.wait()
        faults = {
            "refuse": (400, json.dumps(REFUSAL).encode()),
            "break": (500, b"{}"),
            "absent": (404, b'{"detail":"Not Found"}'),
            "garble": (200, b"<html>"),
            "negative": (200, b'{"count":-1}'),
            "true": (200, b'{"count":true}'),
            "list": (200, b"[1]"),
            "away": (302, b"{}"),
        }
        return faults.get(text) or (200, json.dumps({"count": len(text), "max_model_len": 8}).encode())


@pytest.fixture
def server() -> Iterator[FakeServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            with fake.lock:
                fake.in_flight += 1
                fake.peak = max(fake.peak, fake.in_flight)
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, body = fake.answer(question)
            with fake.lock:
                fake.in_flight -= 1
                fake.seen.append(question)
                fake.keys.add(self.headers["Authorization"])
                fake.paths.add(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if status == 302:
                self.send_header("Location", "http://127.0.0.1:1/")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Listener(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """After its first failure a count leaves the other connections; that is no error of this server."""

    listener = Listener(("127.0.0.1", 0), Handler)
    fake = FakeServer(f"http://127.0.0.1:{listener.server_port}/v1")
    thread = threading.Thread(target=listener.serve_forever, args=(0.01,))
    thread.start()
    yield fake
    listener.shutdown()
    thread.join()
    listener.server_close()


def counts_of(model_id: str, rows: list[Row], **given: Any) -> list[int | RowError]:
    counts = count_rows(model_named(model_id), rows, options=RowOptions(), **given)
    return [count if isinstance(count, RowError) else count.input_tokens for count in counts]


@pytest.mark.parametrize(
    ("messages", "count"),
    [
        ([], 2),
        ([{"role": "user", "content": ""}], 6),
        ([{"role": "user", "content": "It's 12 o'clock!"}], 6 + 8),
        ([{"role": "user", "content": "a b"}, {"role": "assistant", "content": "c"}], 2 + 6 + 5),
        ([{"role": "user", "content": [{"type": "text", "text": "a b"}, {"type": "text", "text": "c."}]}], 6 + 4),
        ([{"role": "assistant", "content": None, "tool_calls": [{}]}], 6),
    ],
)
def test_scripted_model_counts_words_and_marks(messages: list[dict[str, Any]], count: int) -> None:
    assert count_messages(messages) == count
    assert counts_of("scripted", [Row("r", messages, {}, None, None)]) == [count]


def test_server_counts_come_back_in_order(server: FakeServer) -> None:
    rows = [row("x" * length) for length in range(1, 101)]
    counts = counts_of("qwen3-14b", rows, counting_server=server)
    assert counts == list(range(1, 101))
    assert server.keys == {"Bearer secret"}
    assert server.paths == {"/tokenize"}


def test_sixteen_questions_are_in_flight_and_no_more(server: FakeServer) -> None:
    assert counts_of("qwen3-14b", [row("together")] * 64, counting_server=server) == [8] * 64
    assert server.peak == 16


def test_server_is_asked_with_the_row_s_template_settings(server: FakeServer) -> None:
    counts_of("qwen3-14b", [row("hi", enable_thinking=False)], counting_server=server)
    assert server.seen == [
        {
            "model": "served",
            "messages": [{"role": "user", "content": "hi"}],
            "add_generation_prompt": True,
            "chat_template_kwargs": {"enable_thinking": False},
        }
    ]


def test_row_the_template_refuses_is_named_with_the_server_s_reason(server: FakeServer) -> None:
    fine, refusal = counts_of("qwen3-14b", [row("fine"), row("refuse")], counting_server=server)
    assert fine == 4
    assert isinstance(refusal, RowError)
    assert (refusal.code, refusal.param) == ("template_refused", "body.messages")
    assert "roles must alternate" in refusal.message


@pytest.mark.parametrize("fault", ["break", "absent", "garble", "negative", "true", "list", "away"])
def test_server_without_a_sensible_answer_is_unavailable(server: FakeServer, fault: str) -> None:
    with pytest.raises(Unavailable) as refusal:
        counts_of("qwen3-14b", [row("fine"), row(fault), row("fine")], counting_server=server)
    assert "secret" not in refusal.value.message
    assert refusal.value.retry_after


def test_nothing_listening_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        counts_of("qwen3-14b", [row("x")], counting_server=FakeServer("http://127.0.0.1:1/v1"))


@pytest.mark.parametrize("model_id", ["qwen3-14b", "qwen3-embedding-8b"])
def test_model_without_a_running_server_cannot_be_counted(model_id: str) -> None:
    with pytest.raises(Unavailable, match=model_id):
        counts_of(model_id, [row("x")])


def test_missing_weight_package_names_what_to_install() -> None:
    weights = PackagedWeights(distribution="no-such-weights", file="x.gguf", license="MIT")
    with pytest.raises(Unavailable, match=r"requirements-models\.txt"):
        locate(weights)


@pytest.mark.parametrize(("pre", "sentence"), [(None, r"lacks tokenizer\.ggml\.pre"), ("qwen2", r"\(qwen2\)")])
def test_weight_file_with_another_tokenizer_is_not_guessed_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pre: str | None, sentence: str
) -> None:
    path = tmp_path / "other.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_tokenizer_model("gpt2")
    if pre:
        writer.add_tokenizer_pre(pre)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    monkeypatch.setattr(gguf, "locate", lambda weights: path)
    with pytest.raises(Unavailable, match=sentence):
        gguf.load(PackagedWeights(distribution="other", file=f"{pre}.gguf", license="MIT"))


def test_row_errors_cross_processes_unchanged() -> None:
    error = RowError("empty", "custom_id must not be empty", "custom_id")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert vars(copy) == vars(error)


def test_template_settings_are_those_of_the_model_servers() -> None:
    source = (
        "{% for m in messages %}\n    {% if m.hide %}{% continue %}{% endif %}\n{{ m | tojson }}\n{% endfor %}\n"
        "{{ strftime_now('%Y') | length }}"
    )
    rendered = compile_template(source).render(messages=[{"a": "<ä>"}, {"hide": True}])
    assert rendered == '{"a": "<ä>"}\n4'


def test_key_written_like_an_attribute_hides_no_method_of_its_object() -> None:
    source = "{{ a.items() | list }} {{ a.b }} {{ a.c is defined }} {{ a.__class__ is defined }}"
    assert compile_template(source).render(a={"items": 1, "b": 2}) == "[('items', 1), ('b', 2)] 2 False False"


def test_template_can_refuse_messages() -> None:
    with pytest.raises(Refusal, match="no system role"):
        compile_template("{{ raise_exception('no system role') }}").render()


def test_template_runs_in_a_sandbox() -> None:
    with pytest.raises(SecurityError):
        compile_template("{{ messages.__class__.__mro__ }}{{ ''.__class__.__base__.__subclasses__() }}").render(
            messages=[]
        )
