"""`make demo ARGS=--once` past its bootstrap: real services, the real model, the public API."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from anex.supervisor.services import ROOT
from anex.supervisor.valkey import free_port
from tests.sizes import sized

ROWS = sized(6, 30)


@pytest.fixture
def state() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="anex-test-demo-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.slow
def test_the_demo_runs_a_job_twice_and_stops_everything(state: Path) -> None:
    first = demo(state)
    assert first.returncode == 0, first.stdout
    assert re.search(rf"result +{ROWS} lines downloaded, 0 with an error", first.stdout)
    assert re.search(r"quoted +\$\d+\.\d\d\n +charged +\$\d+\.\d\d", first.stdout)
    assert re.search(rf"embedded +{ROWS} vectors of 384 numbers, .* \$0\.01\n +decided +.* \$0\.01\n", first.stdout)
    assert (state / "models").is_dir()

    account = json.loads((state / "demo.json").read_text())
    assert (state / "demo.json").stat().st_mode & 0o777 == 0o600
    assert account["key"] in first.stdout
    assert not (state / "services.env").exists()
    logs = "".join(path.read_text(errors="replace") for path in (state / "logs").iterdir())
    assert account["key"] not in logs
    assert account["password"] not in logs

    second = demo(state)
    assert second.returncode == 0, second.stdout
    assert account["key"] in second.stdout
    assert processes_of(state) == []


def demo(state: Path) -> subprocess.CompletedProcess[str]:
    options = ["--once", "--state", str(state), "--port", str(free_port()), "--rows", str(ROWS)]
    command = [sys.executable, "-m", "anex.supervisor", *options]
    return subprocess.run(
        command,
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=600,
    )


def processes_of(state: Path) -> list[str]:
    """Command lines of every process that still names the state folder."""
    lines = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(state) in line:
            lines.append(line)
    return lines
