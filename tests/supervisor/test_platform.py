"""Which services a run starts itself, and what its children are told."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from anex.supervisor.children import Service
from anex.supervisor.platform import Platform
from anex.supervisor.state import State


class Recorder:
    """Stands where the supervisor does, and starts nothing."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.environment: Mapping[str, str] = {}

    async def start(self, *services: Service) -> None:
        self.started += [service.name for service in services]

    async def run(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> str:
        self.environment = environment
        return ""


def platform_of(recorder: Any, directory: Path) -> Platform:
    return Platform(State(directory), recorder, port=1)


async def test_services_named_by_the_environment_are_used_and_none_is_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    named = {
        "DATABASE_URL": "postgres://anex@db.internal/anex",
        "REDIS_URL": "redis://redis.internal/0",
        "ANEX_S3_BUCKET": "bucket",
        "AWS_SECRET_ACCESS_KEY": "secret",
    }
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    recorder = Recorder()
    await platform_of(recorder, tmp_path).prepare()
    assert recorder.started == ["model server", "encoder"]
    assert {name: recorder.environment[name] for name in named} == named
    published = (tmp_path / "services.env").read_text()
    assert f"DATABASE_URL='{named['DATABASE_URL']}'" in published


def test_services_the_environment_does_not_name_are_embedded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DATABASE_URL", "REDIS_URL"):
        assert os.environ[name]
        monkeypatch.delenv(name)
    platform = platform_of(Recorder(), tmp_path)
    assert platform.postgres is not None
    assert platform.valkey is not None
