"""The models of `make demo` behind the realtime surface, asked as the README says."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator

import openai
import pytest

from anex.settings.base import BASE_DIR
from anex.supervisor.services import ENGINE_KEY
from anex.supervisor.valkey import free_port
from tests.factories import KeyInHand
from tests.inference.scripted_server import wait_for
from tests.realtime.served import Surface, configure, serving

KEY = "local-engine-key"


@pytest.fixture(scope="module")
def engine() -> Iterator[int]:
    port = free_port()
    command = [sys.executable, "-m", "inference.engines.local", "--port", str(port)]
    process = subprocess.Popen(command, cwd=BASE_DIR, env=os.environ | {ENGINE_KEY: KEY}, stdout=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{port}/health", process, timeout_s=60)
        yield port
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def local(key: KeyInHand, engine: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Surface]:
    """Patient, unlike the others' surface: a model that thinks on a busy machine is silent for seconds."""
    monkeypatch.setenv(ENGINE_KEY, KEY)
    configure(engine, "smollm2-135m-instruct", credential_env=ENGINE_KEY, reuse_connections=False)
    with serving(key) as running:
        yield running


def test_request_of_the_readme_is_answered(local: Surface) -> None:
    command = re.search(r"^curl -s \S+(/v1/chat/completions) .* -d '(.*)'$", (BASE_DIR / "README.md").read_text(), re.M)
    assert command
    answer = local.http.post(command[1], json=json.loads(command[2])).json()
    assert answer["choices"][0]["message"]["content"]
    assert answer["usage"]["completion_tokens"] <= 50


def test_stream_of_the_local_model_is_its_whole_answer(local: Surface) -> None:
    asked = {"model": "smollm2-135m-instruct", "max_tokens": 16, "temperature": 0, "seed": 1}
    hi = [{"role": "user", "content": "Name a river."}]
    whole = local.openai.chat.completions.create(messages=hi, **asked)
    # Frameworks say of tools what they always say, though there are none and the model takes none.
    idle = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": False}
    chunks = local.openai.chat.completions.create(messages=hi, stream=True, logprobs=True, **asked, **idle)
    text, entries = "", []
    for chunk in chunks:
        text += chunk.choices[0].delta.content or ""
        entries += chunk.choices[0].logprobs.content if chunk.choices[0].logprobs else []
    assert text == whole.choices[0].message.content
    assert "".join(entry.token for entry in entries) == text
    with pytest.raises(openai.BadRequestError) as refused:
        local.openai.chat.completions.create(messages=[{"role": "user", "content": "word " * 3000}], **asked)
    assert refused.value.code == "context_length_exceeded"
    assert {record.output_tokens for record in local.settled(3)} == {0, whole.usage.completion_tokens}
