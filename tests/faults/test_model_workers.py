"""A worker of one model starts its vLLM, keeps it, and takes it away with itself; no row is lost on the way."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from anex.supervisor.valkey import free_port
from tests.faults.books import assert_books_agree, chat_lines, times_sent
from tests.stack import ROOT, Stack

SLOW_ANSWERS = "--fake-delay-ms 200"


class Host:
    """A platform without a server of its model, whose PATH has a stand-in for `vllm`."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.port = free_port()

    def start(self, name: str, *, vllm: str = SLOW_ANSWERS) -> None:
        """A worker of the scripted model."""
        line = f"--weights /weights --port {self.port} --concurrency 4 --vllm-args='{vllm}'"
        self.stack.start_model_worker(name, "scripted", line)

    def end(self, name: str) -> None:
        """SIGTERM, and nothing is left of the worker and its server."""
        self.stack.processes[name].send_signal(signal.SIGTERM)
        assert self.stack.processes[name].wait(60) == 0
        assert not is_there(self.vllm)
        assert self.stack.query("SELECT seen_at FROM inference_backend") == [(None,)]

    @property
    def starts(self) -> list[int]:
        """Process ids of the servers that were started, oldest first."""
        return [int(line) for line in (self.stack.state / "starts").read_text().split()]

    @property
    def vllm(self) -> int:
        return self.starts[-1]

    def log(self, name: str) -> str:
        return (self.stack.state / f"{name}.log").read_text()

    def approved(self, rows: int, prefix: str) -> tuple[str, list[str]]:
        """A job whose rows may run."""
        lines = chat_lines(rows, prefix=prefix)
        job = self.stack.submit(lines, max_output_tokens=64)
        assert self.stack.wait_until_priced(job)["status"] == "cost_ready"
        self.stack.api("POST", f"/jobs/{job}/approve")
        return job, lines

    def finish(self, job: str, lines: list[str]) -> None:
        self.stack.wait_for(job, "done", seconds=60)
        assert_books_agree(self.stack, job, lines)


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def eventually(condition, why, seconds=30.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, why()
        time.sleep(0.05)


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model-workers")
    (folder / "bin").mkdir()
    script = folder / "bin" / "vllm"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m tests.faults.scripted_vllm "$@"\n')
    script.chmod(0o755)
    environment = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "VLLM_FAKE_DIR": str(folder)}
    with Stack(folder, lease_seconds=3, environment=environment) as stack:
        stack.manage("backends", "remove", "scripted")
        stack.kill("engine")
        yield Host(stack)


@pytest.fixture(autouse=True)
def ready(host):
    (host.stack.state / "ready").touch()
    yield
    for name, process in host.stack.processes.items():
        if name not in ("web", "worker-0", "engine"):
            process.kill()
            process.wait()
    host.stack.query("UPDATE inference_backend SET seen_at = NULL RETURNING id")


def served(host):
    return host.stack.query("SELECT id FROM inference_backend WHERE seen_at > now() - interval '5 seconds'")


def test_its_server_is_started_from_the_catalogue_and_drained_with_rows_in_flight(host):
    host.start("first")
    eventually(lambda: served(host), lambda: host.log("first"))
    assert "serve /weights --served-model-name scripted" in (host.stack.state / "arguments").read_text()
    job, lines = host.approved(32, "drained")
    eventually(lambda: times_sent(host.stack, "drained"), lambda: host.log("first"))
    host.end("first")
    assert 0 < sum(times_sent(host.stack, "drained").values()) < 32
    host.start("second")
    host.finish(job, lines)
    assert set(times_sent(host.stack, "drained").values()) == {1}


def test_killed_server_is_started_again_and_dies_with_its_killed_worker(host):
    host.start("victim")
    eventually(lambda: served(host), lambda: host.log("victim"))
    job, lines = host.approved(48, "killed")
    eventually(lambda: times_sent(host.stack, "killed"), lambda: host.log("victim"))
    os.kill(host.vllm, signal.SIGKILL)
    told = "vLLM of scripted was killed by signal 9 after"
    eventually(lambda: told in host.log("victim"), lambda: host.log("victim"))
    sent = sum(times_sent(host.stack, "killed").values())
    eventually(lambda: sum(times_sent(host.stack, "killed").values()) > sent, lambda: host.log("victim"))
    host.stack.kill("victim")
    eventually(lambda: not is_there(host.vllm), lambda: "vLLM outlived its worker")
    host.start("heir")
    host.finish(job, lines)


def test_job_waits_for_a_server_that_takes_long_to_start(host):
    (host.stack.state / "ready").unlink()
    before = len(host.starts)
    host.start("slow")
    job, lines = host.approved(8, "patient")
    eventually(lambda: len(host.starts) > before, lambda: host.log("slow"))
    shown = host.stack.api("GET", f"/jobs/{job}")
    assert (shown["status"], shown["progress"]["rows_done"]) == ("in_progress", 0)
    assert shown["progress"]["waits_for_server"] is True
    assert not served(host)
    (host.stack.state / "ready").touch()
    host.finish(job, lines)


def test_flag_that_vllm_refuses_is_told_and_tried_again(host):
    host.start("wrong", vllm="--no-such-flag")
    told = "vLLM of scripted ended with exit status 2 before it ever answered; next start in 2 s"
    eventually(lambda: told in host.log("wrong"), lambda: host.log("wrong"))
    assert "unrecognized arguments: --no-such-flag" in host.log("wrong")


def test_worker_that_cannot_start_a_server_ends_and_says_why(host):
    worker = host.stack.start_model_worker("refused", "no-such-model", "")
    assert worker.wait(60) != 0
    assert "The catalogue has no model 'no-such-model'." in host.log("refused")
