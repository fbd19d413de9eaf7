"""Every kind of process is started as the examples say, with nothing but its file's environment, and told to end twice.

Paths, addresses and ports are the test's; a stand-in is vLLM. The lines of the README that make secrets and settings
are carried out.
"""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from anex.core.process import die_with_parent
from anex.settings.base import BASE_DIR
from anex.supervisor.postgres import Postgres
from anex.supervisor.valkey import Valkey, free_port
from tests import clusters
from tests.deploy.test_examples import DEPLOY, compose, unit
from tests.stack import send

PATIENCE_S = 180.0
MODEL = "scripted"
VLLM = f'#!/bin/sh\nPYTHONPATH="{BASE_DIR}" exec "{sys.executable}" -m tests.faults.scripted_vllm "$@"\n'
LEASES = "SELECT count(*) FROM jobs_worker"
SERVERS = "SELECT count(*) FROM inference_backend WHERE seen_at IS NOT NULL"


@dataclass
class Process:
    """`ready` says whether it does what it is for."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path
    ready: Callable[[], bool]


class Machine:
    """A host on which the README's lines were carried out."""

    def __init__(self, folder: Path, postgres: Postgres, valkey: Valkey) -> None:
        self.folder, self.postgres, self.valkey = folder, postgres, valkey
        self.etc = folder / "etc"
        (self.etc / "secrets").mkdir(parents=True)
        for each in ("objects", "schedule", "scratch", "metrics", "lib", "run", "bin"):
            (folder / each).mkdir()
        (folder / "bin" / "vllm").write_text(VLLM)
        (folder / "bin" / "vllm").chmod(0o755)
        (folder / "ready").touch()
        lines = re.findall(r"^(?:openssl|echo|printf) .*$", (DEPLOY / "README.md").read_text(), re.MULTILINE)
        wanted = [line for line in lines if "/etc/anex" in line]
        assert len(wanted) == 5
        subprocess.run(["sh", "-ec", self.here("\n".join(wanted))], check=True)
        (self.etc / "secrets" / "database_url").write_text(postgres.url() + "\n")
        with (self.etc / "anex.env").open("a") as settings:
            settings.write(f"REDIS_URL={valkey.url()}\n")
        engine = f"ANEX_ENGINE_OPTIONS=--weights /weights --port {free_port()}\nVLLM_FAKE_DIR={folder}\n"
        (self.etc / f"engine-{MODEL}.env").write_text(engine)
        self.processes: list[Process] = []
        self.systemd = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.systemd.bind(str(folder / "notify"))
        self.systemd.setblocking(False)
        self.told: list[bytes] = []

    def is_told(self) -> bool:
        """Whether a process said that it is ready."""
        with suppress(BlockingIOError):
            self.told.append(self.systemd.recv(100))
        return b"READY=1" in self.told

    def here(self, text: str) -> str:
        """What stands in the examples, on this machine."""
        for there, on_this in (
            ("/etc/anex", self.etc),
            ("/run/secrets", self.etc / "secrets"),
            ("%d", self.etc / "secrets"),
            ("%t", self.folder / "run"),
            ("%%h", "%h"),
            ("/srv/anex/.venv/bin", Path(sys.executable).parent),
            ("/srv/anex", BASE_DIR),
            ("/srv/", f"{self.folder}/"),
            ("/var/lib/anex", self.folder / "lib"),
        ):
            text = text.replace(there, str(on_this))
        return text

    def file(self, path: str) -> dict[str, str]:
        """The settings in a file of the environment."""
        lines = Path(self.here(path)).read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def of_compose(self, service: str, port: int = 0) -> tuple[list[list[str]], dict[str, str]]:
        """The command, and the check of health where it has one, with the environment of the image and of the file."""
        one = compose()["services"][service]
        image = re.findall(
            r"([A-Z_]+)=(\S+)", re.split(r"^FROM ", (DEPLOY / "Containerfile").read_text(), flags=re.M)[2]
        )
        environment = {name: self.here(value) for name, value in image if "$" not in value}
        environment |= self.file("/etc/anex/anex.env")
        environment |= {name: self.here(value) for name, value in one["environment"].items()}
        environment |= {"REDIS_URL": self.valkey.url(), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
        lines = [one["command"], one.get("healthcheck", {}).get("test", ["CMD"])[1:]]
        return [[self.here(word).replace("8000", str(port)) for word in line] for line in lines], environment

    def of_unit(self, name: str, instance: str = "1") -> tuple[list[list[str]], dict[str, str]]:
        """Its commands and their environment."""
        lines = [(key, value.replace("%i", instance)) for key, value in unit(DEPLOY / "systemd" / name)]
        environment = {"PATH": f"{self.folder / 'bin'}:/usr/bin:/bin"}
        for key, value in lines:
            if key == "EnvironmentFile":
                environment |= self.file(value)
        for value in (value for key, value in lines if key == "Environment"):
            environment |= dict(word.split("=", 1) for word in shlex.split(self.here(value)))
        loaded = {value.partition(":")[0]: value.partition(":")[2] for key, value in lines if key == "LoadCredential"}
        given = {Path(value).name for name, value in environment.items() if name.endswith("_FILE")}
        assert given == loaded.keys()
        assert all(Path(self.here(path)).exists() for path in loaded.values())
        return [shlex.split(self.here(value)) for key, value in lines if key == "ExecStart"], environment

    def start(
        self, name: str, command: list[str], environment: dict[str, str], ready: Callable[[], bool], **options: Any
    ) -> None:
        log = self.folder / f"{name}.log"
        with log.open("wb") as output:
            popen = subprocess.Popen(
                command,
                cwd=BASE_DIR,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                preexec_fn=die_with_parent(signal.SIGKILL),
                **options,
            )
        self.processes.append(Process(name, popen, log, ready))

    def run(self, command: list[str], environment: dict[str, str]) -> None:
        """To its end."""
        done = subprocess.run(command, cwd=BASE_DIR, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def count(self, query: str) -> int:
        with psycopg.connect(self.postgres.url(), autocommit=True) as connection:
            (found,) = connection.execute(query).fetchone()  # type: ignore[arg-type,misc]
        return int(found)

    def until(self, holds: Callable[[], bool]) -> None:
        """Until it does, unless a process ended."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            gone = [each for each in self.processes if each.popen.poll() is not None]
            assert not gone, (gone[0].name, gone[0].log.read_text())
            assert time.monotonic() < deadline, [
                (each.name, each.ready(), each.log.read_text()) for each in self.processes
            ]
            time.sleep(0.05)


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    folder = tmp_path_factory.mktemp("machine")
    folder.chmod(0o755)
    postgres, valkey = Postgres(folder / "postgres", settings=clusters.FAST), Valkey(folder / "valkey")
    clusters.migrated(postgres)
    postgres.start()
    valkey.start()
    made = Machine(folder, postgres, valkey)
    yield made
    for process in made.processes:
        process.popen.kill()
        process.popen.wait()
    made.systemd.close()
    valkey.stop()
    postgres.stop()


def answers(port: int) -> bool:
    try:
        return send(f"http://127.0.0.1:{port}/readyz", "GET") == (200, b"ready\n")
    except OSError:
        return False


def start_compose(machine: Machine) -> None:
    """A web process, and what says whether it is healthy."""
    (command, _), environment = machine.of_compose("migrate")
    machine.run(command, environment)
    port = free_port()
    (command, check), environment = machine.of_compose("web", port)
    machine.start("container", command, environment, lambda: answers(port))
    machine.until(lambda: answers(port))
    machine.run(check, environment)


def start_units(machine: Machine) -> None:
    """A web process that inherits its socket and tells when it is there, a worker, the scheduler, a model's worker."""
    listening = socket.create_server(("127.0.0.1", 0))
    port, fd = listening.getsockname()[1], listening.fileno()
    (command,), environment = machine.of_unit("anex-web@.service")
    as_third = ["bash", "-c", f'exec "$@" 3<&{fd}', "-", *command]
    environment["NOTIFY_SOCKET"] = str(machine.folder / "notify")
    (machine.folder / "run" / "anex-metrics").mkdir()
    machine.start("web", as_third, environment, lambda: machine.is_told() and answers(port), pass_fds=(fd,))
    listening.close()
    (command,), environment = machine.of_unit("anex-worker@.service")
    machine.start("worker", command, environment, lambda: machine.count(LEASES) >= 1)
    (command,), environment = machine.of_unit("anex-engine@.service", MODEL)
    machine.start("engine", command, environment, lambda: machine.count(LEASES) == 2 and machine.count(SERVERS) == 1)
    (command,), environment = machine.of_unit("anex-scheduler.service")
    machine.start(
        "scheduler", command, environment, lambda: b"is ready" in (machine.folder / "scheduler.log").read_bytes()
    )


@pytest.mark.slow
def test_every_process_starts_from_its_file_alone_and_ends_when_it_is_told_over_and_over(machine: Machine) -> None:
    start_compose(machine)
    start_units(machine)
    machine.until(lambda: all(each.ready() for each in machine.processes))
    deadline = time.monotonic() + PATIENCE_S
    while alive := [each for each in machine.processes if each.popen.poll() is None]:
        assert time.monotonic() < deadline, [(each.name, each.log.read_text()) for each in alive]
        for each in alive:
            os.kill(each.popen.pid, signal.SIGTERM)
        time.sleep(0.1)
    ended = {each.name: each.popen.returncode for each in machine.processes}
    # systemd takes either for a clean end. A process that has done all it had to may be met by the last signal.
    assert set(ended.values()) <= {0, -signal.SIGTERM}, ended
    assert ended["scheduler"] == 0
    assert [each.name for each in machine.processes if b"Traceback" in each.log.read_bytes()] == []
    for each in (process for process in machine.processes if process.name in ("container", "web")):
        told = [line for line in each.log.read_text().splitlines() if line != "READY"]
        assert [line for line in told if not line.startswith('{"time"')] == []
    assert (machine.count(LEASES), machine.count(SERVERS)) == (0, 0)
