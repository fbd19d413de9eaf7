"""The platform as real processes for fault tests and benchmarks: own Postgres, Valkey, model server, web, workers."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from anex.core.process import die_with_parent
from anex.supervisor.postgres import Postgres
from anex.supervisor.valkey import Valkey, accepts, free_port
from tests import clusters

ROOT = Path(__file__).resolve().parents[1]
SETUP = """
import json, django
django.setup()
from anex.core.actors import system
from accounts.models import User
from accounts.services import keys, organizations
from billing.services import grants
from inference.backends import registry
ada = User.objects.create_user("ada@example.com", "correct horse battery")
organization = organizations.create(name="Acme", owner_id=ada.pk, actor=system("setup"))
grants.give(organization_id=organization.pk, cents={cents}, reason="test", source="setup", actor=system("setup"))
key = keys.create(organization_id=organization.pk, name="test", actor=system("setup"))
registry.configure(model_id="scripted", base_url="http://127.0.0.1:{port}/v1", served_name="scripted",
                   concurrency={concurrency}, actor=system("setup"))
print(json.dumps([str(organization.pk), key.secret]))
"""


def send(url: str, method: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    """One HTTP request on a connection of its own: status and body."""
    parts = urllib.parse.urlsplit(url)
    with contextlib.closing(http.client.HTTPConnection(parts.netloc, timeout=60)) as connection:
        connection.request(method, f"{parts.path}?{parts.query}", body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()


class Stack:
    """A context manager; durable commits unless told otherwise. Everything dies with this process.

    One `beside` another shares its Postgres.
    """

    def __init__(
        self,
        state: Path,
        *,
        lease_seconds: float = 10.0,
        concurrency: int = 64,
        cents: int = 10_000_000,
        engine_options: tuple[str, ...] = (),
        workers: int = 1,
        durable: bool = True,
        environment: Mapping[str, str] | None = None,
        beside: Self | None = None,
    ) -> None:
        self.state = state
        self.state.chmod(0o755)
        self._beside = beside
        own = Postgres(state / "postgres", settings={} if durable else clusters.FAST)
        self.postgres = beside.postgres if beside else own
        self.valkey = Valkey(state / "valkey")
        # Every web process of this stack accepts from it.
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.web_port, self.engine_port = self.listening.getsockname()[1], free_port()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._setup = SETUP.format(cents=cents, port=self.engine_port, concurrency=concurrency)
        self._engine_options = engine_options
        self._workers = workers
        self._lease = lease_seconds
        self._extra = dict(environment or {})
        self.organization_id = self.secret = ""

    @property
    def environment(self) -> dict[str, str]:
        """What the platform's processes are started with."""
        return {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "anex.settings.test",
            "DATABASE_URL": self.postgres.url(),
            "REDIS_URL": self.valkey.url(),
            "ANEX_STORAGE_DIR": str(self.state / "objects"),
            "ANEX_PUBLIC_URL": f"http://127.0.0.1:{self.web_port}",
            "ANEX_LEASE_SECONDS": str(self._lease),
            "PYTHONPATH": str(ROOT),
            **self._extra,
        }

    def __enter__(self) -> Self:
        try:
            self._start_all()
        except BaseException:
            self.stop_all()
            raise
        return self

    def _start_all(self) -> None:
        self.start_services()
        self.organization_id, self.secret = json.loads(self.run(self._setup))
        self.start_platform()
        self.wait_for_web()

    def start_services(self) -> None:
        """What the platform runs on."""
        if not self._beside:
            clusters.migrated(self.postgres)
            self.postgres.start()
        self.valkey.start()
        self.start_engine()

    def start_platform(self) -> None:
        """Web and workers; they may not answer yet."""
        self.start_web()
        for number in range(self._workers):
            self.start_worker(f"worker-{number}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_all()

    def stop_all(self) -> None:
        """End everything at once."""
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()
        self.listening.close()
        if self.valkey.process:
            # It has nothing to keep, and on a busy disk what it writes at an orderly end takes longer than it is given.
            self.valkey.process.kill()
            self.valkey.process.wait()
        if not self._beside:
            self.postgres.stop()

    def run(self, code: str) -> str:
        """Python code of the platform, in a process of its own; what it printed."""
        command = [sys.executable, "-W", "ignore", "-c", code]
        done = subprocess.run(command, cwd=ROOT, env=self.environment, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout

    def start(
        self, name: str, arguments: list[str], *, environment: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[bytes]:
        """Start a Python process of the platform; its output goes to a file named after it."""
        with (self.state / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-W", "ignore", *arguments],
                cwd=ROOT,
                env={**self.environment, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=die_with_parent(signal.SIGKILL),
                **options,
            )
        self.processes[name] = process
        return process

    def start_web(self, name: str = "web") -> subprocess.Popen[bytes]:
        """One more web process."""
        socket_ = self.listening.fileno()
        return self.start(name, ["-m", "anex.serve", "--fd", str(socket_)], pass_fds=(socket_,))

    def wait_for_web(self, name: str = "web", seconds: float = 120) -> None:
        """Until a web process that was started answers requests."""
        deadline = time.monotonic() + seconds
        while b"READY" not in (log := (self.state / f"{name}.log").read_bytes()):
            assert self.processes[name].poll() is None, log.decode()
            assert time.monotonic() < deadline, log.decode()
            time.sleep(0.02)

    def manage(self, *arguments: str) -> None:
        """A command of `manage.py`, to its end."""
        command = [sys.executable, "-W", "ignore", "manage.py", *arguments]
        subprocess.run(command, cwd=ROOT, env=self.environment, check=True)

    def start_worker(self, name: str = "worker-0") -> subprocess.Popen[bytes]:
        """A Celery worker with its pump."""
        options = ["--pool", "solo", "--without-gossip", "--without-mingle", "-n", f"{name}@%h"]
        return self.start(name, ["-m", "celery", "-A", "anex", "worker", *options])

    def start_model_worker(self, name: str, model: str, options: str) -> subprocess.Popen[bytes]:
        """A Celery worker that starts the model's server with these options and runs its rows."""
        line = ["-m", "celery", "-A", "anex", "worker", "-Q", f"inference.{model}", "-n", f"{name}@%h"]
        return self.start(name, line, environment={"ANEX_ENGINE_OPTIONS": options})

    def start_engine(self) -> None:
        """The scripted model server; rows it receives are journalled."""
        options = ["--port", str(self.engine_port), "--journal", str(self.journal), *self._engine_options]
        self.start("engine", ["-m", "inference.engines.scripted", *options])
        self.wait_port(self.engine_port)

    @property
    def journal(self) -> Path:
        """One line per row the model server received."""
        return self.state / "journal"

    def kill(self, name: str) -> None:
        """kill -9."""
        self.processes[name].kill()
        self.processes[name].wait()

    def pids(self) -> dict[str, int]:
        """Process ids by name, the servers' included."""
        assert self.postgres.process
        assert self.valkey.process
        servers = {"postgres": self.postgres.process.pid, "valkey": self.valkey.process.pid}
        return servers | {name: process.pid for name, process in self.processes.items()}

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """A call of the batch API with the organization's key: status and decoded body."""
        headers = {"Authorization": f"Bearer {self.secret}", "Content-Type": "application/json"}
        content = json.dumps(body) if body is not None else None
        status, answer = send(f"http://127.0.0.1:{self.web_port}/batch/v1{path}", method, content, headers)
        return status, json.loads(answer or b"null")

    def api(self, method: str, path: str, body: Any = None) -> Any:
        """Like `request`, for calls that must succeed."""
        status, answer = self.request(method, path, body)
        assert status < 300, (method, path, status, answer)
        return answer

    def submit(self, lines: list[str], **options: Any) -> str:
        """Upload lines and create a job of the scripted model; returns its id."""
        created = self.api("POST", "/inputs", {"format": "jsonl"})
        boundary = "anex-test-boundary"
        form = "".join(
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in created["fields"].items()
        )
        form += f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="rows.jsonl"\r\n\r\n'
        body = form.encode() + "".join(line + "\n" for line in lines).encode() + f"\r\n--{boundary}--\r\n".encode()
        kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        status, answer = send(created["upload_url"], "POST", body, kind)
        assert status == 204, answer
        job: str = self.api("POST", "/jobs", {"input_id": created["id"], "model": "scripted", **options})["id"]
        return job

    def wait_for(self, job_id: str, *statuses: str, seconds: float = 120, show: bool = False) -> Any:
        """Poll a job until it has one of these statuses; fails at the deadline or when it ended otherwise."""
        deadline, shown = time.monotonic() + seconds, 0.0
        while (status := self.status(job_id)) not in statuses:
            late = time.monotonic() > deadline or status in ("failed", "cancelled", "done")
            assert not late, self.api("GET", f"/jobs/{job_id}")
            if show and time.monotonic() - shown > 10:
                shown = time.monotonic()
                print(status, self.api("GET", f"/jobs/{job_id}")["progress"], flush=True)
            time.sleep(0.1)
        return self.api("GET", f"/jobs/{job_id}")

    def wait_until_priced(self, job_id: str, seconds: float = 120) -> Any:
        """Poll a job until it waits for approval or has failed for free."""
        deadline = time.monotonic() + seconds
        while self.status(job_id) not in ("cost_ready", "failed"):
            assert time.monotonic() < deadline, self.api("GET", f"/jobs/{job_id}")
            time.sleep(0.05)
        return self.api("GET", f"/jobs/{job_id}")

    def status(self, job_id: str) -> str:
        """Of a job, from the database: it is asked over and over, and the API takes ten times as long."""
        return str(self.query(f"SELECT status FROM jobs_job WHERE id = '{job_id}'")[0][0])

    def result(self, job_id: str) -> list[Any]:
        """The lines of a job's result file."""
        _, body = send(self.api("GET", f"/jobs/{job_id}/result")["result_url"], "GET")
        return [json.loads(line) for line in body.splitlines()]

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Rows straight from the database."""
        import psycopg

        with psycopg.connect(self.postgres.url(), autocommit=True) as connection:
            return connection.execute(statement).fetchall()  # type: ignore[arg-type]

    def wait_port(self, port: int, seconds: float = 30) -> None:
        """Return when something listens there."""
        deadline = time.monotonic() + seconds
        while not accepts(port):
            assert time.monotonic() < deadline, f"nothing listens on {port}"
            time.sleep(0.05)
