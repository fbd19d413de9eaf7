"""Whole runs with real data services: stopped, killed, started twice, started over what a killed run left."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from anex.supervisor.services import ROOT
from tests.supervisor.processes import wait_until_gone


@pytest.fixture
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A state folder under a path any user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="anex-test-state-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


class Run:
    """One supervisor process; `pids` are its children's, `runs` how many runs the database remembers."""

    def __init__(self, state: Path) -> None:
        command = [sys.executable, "-m", "tests.supervisor.driver", str(state)]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # The run leaves SIGHUP alone where it was ignored from the start, as it is under nohup.
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )
        assert self.process.stdout is not None
        ready = self.process.stdout.readline().split()
        assert ready[0] == "ready", " ".join(ready)
        self.runs, *self.pids = map(int, ready[1:])

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        status = self.process.wait(60)
        self.process.stdout.close()
        return status


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_every_process(state: Path, number: signal.Signals) -> None:
    run = Run(state)
    assert (state / "services.env").stat().st_mode & 0o777 == 0o600
    assert len(run.pids) == 3
    assert run.end(number) == 0
    wait_until_gone(*run.pids)
    assert not (state / "services.env").exists()


def test_kill_9_leaves_no_process_and_the_next_run_heals_and_keeps_the_data(state: Path) -> None:
    first = Run(state)
    first.end(signal.SIGKILL)
    second = Run(state)
    assert second.runs == 2
    second.end(signal.SIGTERM)
    wait_until_gone(*first.pids)


def test_a_second_run_in_the_same_folder_is_a_sentence(state: Path) -> None:
    run = Run(state)
    second = demo("--state", str(state), "--port", "9")
    assert second.returncode == 1
    assert f"The platform already runs in this folder (process {run.process.pid})." in second.stdout
    assert f"kill {run.process.pid}" in " ".join(second.stdout.split())
    run.end(signal.SIGTERM)


def test_a_taken_port_is_a_sentence_that_names_a_free_one(state: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = demo("--state", str(state), "--port", str(port))
    assert done.returncode == 1
    assert f"Port {port} is already used by another program." in done.stdout
    assert 'make demo ARGS="--port ' in done.stdout
    assert "Traceback" not in done.stdout


def test_a_state_folder_that_cannot_be_made_is_a_sentence() -> None:
    done = demo("--state", "/dev/null/state")
    assert done.returncode == 1
    assert "Not a directory" in done.stdout
    assert "Traceback" not in done.stdout


def test_a_port_that_is_no_port_is_refused(state: Path) -> None:
    done = demo("--state", str(state), "--port", "70000")
    assert done.returncode == 2
    assert "a port is a number from 1 to 65535" in done.stdout


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`make demo` past its bootstrap, expected to end by itself."""
    environment = {"PATH": os.environ["PATH"], "COLUMNS": "200"}
    command = [sys.executable, "-m", "anex.supervisor", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
