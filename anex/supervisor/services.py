"""The processes of one-command use as services: how each is run, and when it is ready."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from redis import Redis, RedisError

from anex.supervisor.children import Ready, Service
from anex.supervisor.postgres import Postgres
from anex.supervisor.valkey import Valkey

ROOT = Path(__file__).resolve().parents[2]
ENGINE_KEY = "ANEX_LOCAL_ENGINE_KEY"


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A model server of ours: the module that runs it, its models, and what the registry is told besides."""

    name: str
    module: str
    models: tuple[str, ...]
    port: int
    former_port: int | None
    arguments: tuple[str, ...] = ()
    registered: tuple[str, ...] = ()

    def service(self, key: str) -> Service:
        """The server as a child."""
        return Service(
            name=self.name,
            command=python("-m", self.module, "--port", str(self.port), *self.arguments),
            ready=answers(f"http://127.0.0.1:{self.port}/health"),
            environment=python_environment() | {ENGINE_KEY: key},
            options={"cwd": ROOT},
        )

    def registrations(self) -> list[tuple[str, ...]]:
        """Arguments of `manage.py backends`: forget where an earlier run had the server, say where it is now."""
        former = [("remove", model, _url(self.former_port)) for model in self.models] if self.former_port else []
        return [
            *former,
            ("set", *self.models, _url(self.port), "--credential-env", ENGINE_KEY, *self.registered),
        ]


def _url(port: int | None) -> str:
    return f"http://127.0.0.1:{port}/v1"


def python(*arguments: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, *arguments]


def python_environment() -> dict[str, str]:
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
