"""A pump in this process, and the scripted engine it sends rows to."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from anex.core.actors import system
from inference.backends import registry
from jobs.run import pump as pump_module
from jobs.run import window
from jobs.run.pump import Pump
from tests.inference.scripted_server import ScriptedServer, scripted_server


@pytest.fixture(scope="session")
def kept_journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scripted") / "journal"


@pytest.fixture(scope="session")
def kept_engine(kept_journal: Path) -> Iterator[ScriptedServer]:
    """One engine for many tests; to be renewed for each."""
    with scripted_server("--journal", str(kept_journal)) as running:
        yield running


@pytest.fixture
def engine(kept_engine: ScriptedServer, kept_journal: Path, tmp_path: Path) -> ScriptedServer:
    kept_engine.renew()
    os.truncate(kept_journal, 0)
    (tmp_path / "journal").symlink_to(kept_journal)
    registry.configure(
        model_id="scripted", base_url=kept_engine.base_url, served_name="scripted", concurrency=16, actor=system("test")
    )
    return kept_engine


@pytest.fixture
def pump(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pump]:
    for module in (pump_module, window):
        monkeypatch.setattr(module, "REST_SECONDS", 0.5)
    running = Pump(region="world", lease_seconds=5)
    running.start()
    yield running
    running.stop()


@pytest.fixture
def served(db: None) -> None:
    """The scripted model is offered, though nothing answers for it."""
    registry.configure(
        model_id="scripted", base_url="http://127.0.0.1:9/v1", served_name="scripted", actor=system("test")
    )
