"""The scripted engine as a process of its own, for tests that need a model server."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anex.supervisor.valkey import free_port
from inference.backends.registry import Server

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class ScriptedServer:
    """A running engine; `restart()` starts it again on its port after it died."""

    port: int
    arguments: list[str]
    process: subprocess.Popen[bytes]

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        return f"{self.origin}/v1"

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def restart(self) -> None:
        self.kill()
        self.process = _start(self.port, self.arguments)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def renew(self) -> None:
        """Have an engine as if it had just been started; starting one takes half a second."""
        if not self.alive:
            self.restart()
        self._post("forget")

    def release(self) -> None:
        """Let streams go on that the directive `hold` stopped."""
        self._post("release")

    def stats(self) -> dict[str, int]:
        """Requests so far, those in flight, the held ones among them."""
        with urllib.request.urlopen(f"{self.origin}/stats", timeout=30) as answer:
            return dict(json.load(answer))

    def _post(self, what: str) -> None:
        with urllib.request.urlopen(urllib.request.Request(f"{self.origin}/{what}", method="POST"), timeout=30):
            return

    def server(self, *, api_key: str = "", reuse_connections: bool = True, served_name: str = "scripted") -> Server:
        """The backend a client would be given for this process."""
        return Server(
            id=1,
            model_id="scripted",
            region="world",
            base_url=self.base_url,
            served_name=served_name,
            api_key=api_key,
            concurrency=64,
            reuse_connections=reuse_connections,
        )


@contextmanager
def scripted_server(*arguments: str) -> Iterator[ScriptedServer]:
    """Start the engine with further command line arguments; killed on exit."""
    port = free_port()
    running = ScriptedServer(port, list(arguments), _start(port, list(arguments)))
    try:
        yield running
    finally:
        running.kill()


def wait_for(url: str, process: subprocess.Popen[bytes], *, timeout_s: float = 30.0) -> None:
    """Return once `url` answers 200; raise when the process ends or time is up."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError):
            if process.poll() is not None:
                raise RuntimeError(f"The server of {url} ended with {process.returncode}.") from None
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _start(port: int, arguments: list[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "inference.engines.scripted", "--port", str(port), *arguments]
    process = subprocess.Popen(command, cwd=ROOT, env=dict(os.environ), stdout=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{port}/health", process)
    except BaseException:
        process.kill()
        process.wait()
        raise
    return process
