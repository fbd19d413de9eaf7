"""A pump in this process, and the scripted engine it sends rows to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from anex.core.actors import system
from inference.backends import registry
from jobs.run import pump as pump_module
from jobs.run import window
from jobs.run.pump import Pump
from tests.inference.scripted_server import ScriptedServer, scripted_server


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[ScriptedServer]:
    with scripted_server("--journal", str(tmp_path / "journal")) as running:
        registry.configure(
            model_id="scripted", base_url=running.base_url, served_name="scripted", concurrency=16, actor=system("test")
        )
        yield running


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
