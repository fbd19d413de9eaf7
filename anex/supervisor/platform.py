"""The processes of one-command use: data services, model servers, web, worker, scheduler, in that order.

A service named by the environment (DATABASE_URL, REDIS_URL) is used instead of an embedded one.
"""

import os
import sys

from anex.supervisor.children import Service, Supervisor, together
from anex.supervisor.postgres import Postgres
from anex.supervisor.services import (
    ENGINE_KEY,
    ROOT,
    ModelServer,
    answers,
    handles_sigterm,
    postgres_service,
    python,
    python_environment,
    valkey_service,
)
from anex.supervisor.state import State
from anex.supervisor.valkey import Valkey

MODEL = "smollm2-135m-instruct"
EMBEDDER, DECIDER = "minilm-l6-v2", "minilm-decide"
_MODEL_CONCURRENCY = 8
_GRACEFUL_S = 5
_MOST_WORKERS = 4


class Platform:
    """Everything one machine needs to serve, run by a supervisor; `url` is where people and programs reach it."""

    def __init__(self, state: State, supervisor: Supervisor, *, port: int) -> None:
        self.state = state
        self.supervisor = supervisor
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.model_servers = _model_servers(state)
        self.postgres = None if os.environ.get("DATABASE_URL") else Postgres(state.directory / "postgres")
        self.valkey = None if os.environ.get("REDIS_URL") else Valkey(state.directory / "valkey")
        self.environment: dict[str, str] = {}

    async def prepare(self) -> None:
        """Start the data services and the model servers, publish where they are, bring the tables up to date."""
        services = [server.service(self._engine_key()) for server in self.model_servers]
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
        """Start web, worker and scheduler, and make the model servers known to them."""
        web = Service(
            name="web",
            command=python(
                *("-m", "anex.serve", "--port", str(self.port), "--drain-seconds", str(_GRACEFUL_S)),
            ),
            ready=answers(f"{self.url}/accounts/login/"),
            environment=self.environment,
            options={"cwd": ROOT},
        )
        schedule = str(self.state.directory / "beat-schedule")
        scheduler = Service(
            name="scheduler",
            command=python("-m", "celery", "-A", "anex", "beat", "-s", schedule, "--pidfile="),
            ready=handles_sigterm,
            environment=self.environment,
            options={"cwd": ROOT},
        )
        await together(self.supervisor.start(web, *self._workers(), scheduler), self._register_models())

    def _workers(self) -> list[Service]:
        """One for each core, for a worker is one event loop; no more than the platform beside them can feed."""
        count = min(len(os.sched_getaffinity(0)), _MOST_WORKERS)
        return [self._worker(f"worker-{number}") for number in range(1, count + 1)]

    def _worker(self, name: str) -> Service:
        return Service(
            name=name,
            command=python(
                *("-m", "celery", "-A", "anex", "worker", "--pool", "threads", "--concurrency", "2", "-Q", "batch"),
                *("--without-gossip", "--without-mingle", "-n", f"{name}@%h"),
            ),
            ready=handles_sigterm,
            environment=self.environment,
            grace_s=20.0,
            options={"cwd": ROOT},
        )

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
            ENGINE_KEY: self._engine_key(),
        }
        self.state.publish(published)
        self.environment = python_environment() | published | {"DJANGO_SETTINGS_MODULE": "anex.settings.development"}

    def _engine_key(self) -> str:
        return os.environ.get(ENGINE_KEY) or self.state.secret("engine-key")

    async def _register_models(self) -> None:
        """Name the model servers in the table of backends."""
        for server in self.model_servers:
            for arguments in server.registrations():
                await self.manage("backends", *arguments)


def _model_servers(state: State) -> tuple[ModelServer, ...]:
    chat, encoder = state.port("model-port"), state.port("encoder-port")
    return (
        # llama.cpp breaks some of the connections that are used again.
        ModelServer(
            *("model server", "inference.engines.local", (MODEL,), *chat),
            registered=("--concurrency", str(_MODEL_CONCURRENCY), "--no-reuse"),
        ),
        ModelServer(
            *("encoder", "inference.engines.minilm", (EMBEDDER, DECIDER), *encoder),
            arguments=("--cache", str(state.directory / "models")),
            registered=("--concurrency", str(_MODEL_CONCURRENCY)),
        ),
    )
