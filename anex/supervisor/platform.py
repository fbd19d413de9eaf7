"""The processes of one-command use: data services, model server, web, worker, scheduler, in that order.

A service named by the environment (DATABASE_URL, REDIS_URL) is used instead of an embedded one.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import aiohttp
from redis import Redis, RedisError

from anex.supervisor.children import Ready, Service, Supervisor, together
from anex.supervisor.postgres import Postgres
from anex.supervisor.state import State
from anex.supervisor.valkey import Valkey

ROOT = Path(__file__).resolve().parents[2]
MODEL = "smollm2-135m-instruct"
_MODEL_CONCURRENCY = 8
_GRACEFUL_S = 5


class Platform:
    """Everything one machine needs to serve, run by a supervisor; `url` is where people and programs reach it."""

    def __init__(self, state: State, supervisor: Supervisor, *, port: int) -> None:
        self.state = state
        self.supervisor = supervisor
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.model_port, self._former_model_port = state.port("model-port")
        self.postgres = None if os.environ.get("DATABASE_URL") else Postgres(state.directory / "postgres")
        self.valkey = None if os.environ.get("REDIS_URL") else Valkey(state.directory / "valkey")
        self.environment: dict[str, str] = {}

    async def prepare(self) -> None:
        """Start the data services and the model server, publish where they are, bring the tables up to date."""
        services = [self._model_server()]
        if self.postgres:
            self.postgres.prepare()
            services.append(postgres_service(self.postgres))
        if self.valkey:
            self.valkey.prepare()
            services.append(valkey_service(self.valkey))
        self._settle_environment()
        await self.supervisor.start(*services)
        if self.postgres:
            self.postgres.create_database("anex")
        await self.manage("migrate", "--noinput")

    async def serve(self) -> None:
        """Start web, worker and scheduler, and make the model server known to them."""
        web = Service(
            name="web",
            command=_python(
                *("-m", "uvicorn", "anex.asgi:application", "--host", "127.0.0.1", "--port", str(self.port)),
                *("--http", "httptools", "--loop", "uvloop", "--timeout-graceful-shutdown", str(_GRACEFUL_S)),
            ),
            ready=answers(f"{self.url}/accounts/login/"),
            environment=self.environment,
            options={"cwd": ROOT},
        )
        worker = Service(
            name="worker",
            command=_python(
                *("-m", "celery", "-A", "anex", "worker", "--pool", "threads", "--concurrency", "2", "-Q", "batch"),
                *("--without-gossip", "--without-mingle", "--loglevel", "INFO"),
            ),
            ready=handles_sigterm,
            environment=self.environment,
            grace_s=20.0,
            options={"cwd": ROOT},
        )
        schedule = str(self.state.directory / "beat-schedule")
        scheduler = Service(
            name="scheduler",
            command=_python("-m", "celery", "-A", "anex", "beat", "-s", schedule, "--pidfile=", "--loglevel", "INFO"),
            ready=handles_sigterm,
            environment=self.environment,
            options={"cwd": ROOT},
        )
        await together(self.supervisor.start(web, worker, scheduler), self._register_model())

    async def manage(self, command: str, *arguments: str) -> str:
        """Run a management command; what it printed. Raises StartError when it fails."""
        return await self.supervisor.run(
            command, [sys.executable, str(ROOT / "manage.py"), command, *arguments], self.environment
        )

    def close(self) -> None:
        """After everything has stopped: nothing is published any more, the data directory is free."""
        self.state.withdraw()
        self.state.release()
        if self.postgres:
            self.postgres.release()

    def _settle_environment(self) -> None:
        """What every child is told; the part another terminal needs is published."""
        published = {
            "DATABASE_URL": self.postgres.url() if self.postgres else os.environ["DATABASE_URL"],
            "REDIS_URL": self.valkey.url() if self.valkey else os.environ["REDIS_URL"],
            "SECRET_KEY": os.environ.get("SECRET_KEY") or self.state.secret("secret-key"),
            "ANEX_PUBLIC_URL": os.environ.get("ANEX_PUBLIC_URL") or self.url,
            "ANEX_STORAGE_DIR": os.environ.get("ANEX_STORAGE_DIR") or str(self.state.directory / "objects"),
            "ANEX_LOCAL_ENGINE_KEY": self._engine_key(),
        }
        self.state.publish(published)
        self.environment = _python_environment() | published | {"DJANGO_SETTINGS_MODULE": "anex.settings.development"}

    def _engine_key(self) -> str:
        return os.environ.get("ANEX_LOCAL_ENGINE_KEY") or self.state.secret("engine-key")

    def _model_server(self) -> Service:
        return Service(
            name="model server",
            command=_python("-m", "inference.engines.local", "--port", str(self.model_port)),
            ready=answers(f"http://127.0.0.1:{self.model_port}/health"),
            environment=_python_environment() | {"ANEX_LOCAL_ENGINE_KEY": self._engine_key()},
            options={"cwd": ROOT},
        )

    async def _register_model(self) -> None:
        """Name the model server in the table of backends, instead of where an earlier run had it."""
        if self._former_model_port:
            await self.manage("backends", "remove", MODEL, _model_url(self._former_model_port))
        await self.manage(
            *("backends", "set", MODEL, _model_url(self.model_port), "--served-name", MODEL),
            *("--credential-env", "ANEX_LOCAL_ENGINE_KEY", "--concurrency", str(_MODEL_CONCURRENCY), "--no-reuse"),
        )


def _model_url(port: int) -> str:
    return f"http://127.0.0.1:{port}/v1"


def _python(*arguments: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, *arguments]


def _python_environment() -> dict[str, str]:
    """This process's environment without what would bend a child's Python."""
    bent = {"PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONWARNINGS"}
    return {name: value for name, value in os.environ.items() if name not in bent} | {"PYTHONUNBUFFERED": "1"}


def postgres_service(postgres: Postgres) -> Service:
    """The prepared database server as a child."""

    async def ready(pid: int) -> bool:
        return postgres.ready(pid)

    return Service(
        name="postgres",
        command=postgres.command,
        ready=ready,
        stop_signal=signal.SIGINT,
        death_signal=signal.SIGINT,
        grace_s=30.0,
        options=postgres.options,
    )


def valkey_service(valkey: Valkey) -> Service:
    """The prepared queue server as a child; ready when it has read its file and answers."""

    def pings() -> bool:
        try:
            with Redis.from_url(valkey.url(), socket_timeout=2) as client:
                return bool(client.ping())
        except RedisError:
            return False

    async def ready(_pid: int) -> bool:
        return await asyncio.to_thread(pings)

    return Service(name="valkey", command=valkey.command, ready=ready, death_signal=signal.SIGTERM)


def answers(url: str) -> Ready:
    """Ready when this URL answers with anything but a server error."""

    async def ready(_pid: int) -> bool:
        timeout = aiohttp.ClientTimeout(total=5)
        try:
            async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as response:
                return response.status < 500
        except (aiohttp.ClientError, TimeoutError):
            return False

    return ready


async def handles_sigterm(pid: int) -> bool:
    """Ready when the process catches SIGTERM: before that Celery would drop what it holds (Linux; else at once)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True
    caught = next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigCgt:")), 0)
    return bool(caught >> (signal.SIGTERM - 1) & 1)
