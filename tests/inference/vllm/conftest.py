"""A host whose PATH has a fake `vllm`, and an engine that runs in a thread."""

import json
import sys
import threading
import time
from pathlib import Path

import pytest
from django.db import connection

from anex.supervisor.valkey import free_port
from inference.engines.launch import Launch
from inference.engines.vllm import Pace, Vllm

FAST = Pace(look_s=0.02, silence_s=20, drain_s=20, end_s=10, restart_s=0.01)


def eventually(condition, timeout_s=30.0):
    """Return what `condition` returns once that is true."""
    deadline = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < deadline, "this never came true"
        time.sleep(0.02)
    return value


class Host:
    """The folder that steers the fake, and what the fake wrote there."""

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()

    def mark(self, name):
        (self.folder / name).touch()

    def unmark(self, name):
        (self.folder / name).unlink()

    def read(self, name):
        return json.loads((self.folder / name).read_text())

    @property
    def pids(self):
        starts = self.folder / "starts"
        return [int(line) for line in starts.read_text().split()] if starts.exists() else []

    def running(self):
        """The started processes that are still there."""
        return [pid for pid in self.pids if Path(f"/proc/{pid}/stat").exists()]

    def launch(self, **changes):
        fields = {"model_id": "scripted", "task": "chat", "weights": "/weights", "max_model_len": 2048, **changes}
        return Launch(port=self.port, **fields)


@pytest.fixture
def host(tmp_path, monkeypatch):
    executable = tmp_path / "vllm"
    script = Path(__file__).with_name("fake_vllm.py")
    executable.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    executable.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("VLLM_FAKE_DIR", str(tmp_path))
    return Host(tmp_path)


@pytest.fixture
def running(transactional_db, host):
    """Start engines in threads; all are stopped when the test ends."""
    stops = []

    def start(pace=FAST, **changes):
        stop = threading.Event()
        engine = Vllm(host.launch(**changes), stop=stop, pace=pace)

        def run():
            try:
                engine.run()
            finally:
                connection.close()

        thread = threading.Thread(target=run)
        thread.start()
        stops.append((stop, thread))
        return stop, thread

    yield start
    (host.folder / "busy").unlink(missing_ok=True)
    for stop, thread in stops:
        stop.set()
        thread.join(30)
        assert not thread.is_alive()
    assert host.running() == []
