"""`/healthz` and `/readyz` say whether a process lives and can serve, and never where anything is."""

import asyncio
import threading
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

from anex import health
from anex.asgi import application

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def readiness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_readiness", health.Readiness())


async def ask(path: str, method: str = "GET", **state: bool) -> tuple[int, str]:
    told: list[dict[str, Any]] = []

    async def send(event: dict[str, Any]) -> None:
        told.append(event)

    scope = {"type": "http", "method": method, "path": path, "headers": [], "query_string": b"", "state": state}
    await application(scope, None, send)
    assert (b"cache-control", b"no-store") in told[0]["headers"]
    return told[0]["status"], told[1]["body"].decode()


def get(path: str, **state: bool) -> tuple[int, str]:
    return asyncio.run(ask(path, **state))


def test_a_process_that_can_serve_is_alive_and_ready() -> None:
    assert get("/healthz") == (200, "alive\n")
    assert get("/readyz") == (200, "ready\n")
    assert asyncio.run(ask("/readyz", "HEAD")) == (200, "")
    assert asyncio.run(ask("/readyz", "POST")) == (405, "use GET\n")


def test_a_process_that_drains_lives_and_is_not_ready() -> None:
    assert get("/readyz", draining=True) == (503, "not ready: draining\n")
    assert get("/healthz", draining=True) == (200, "alive\n")


def test_a_migration_that_is_missing_is_not_ready_and_one_too_many_is() -> None:
    recorder = MigrationRecorder(connection)
    recorder.record_applied("jobs", "9999_of_the_next_version")
    try:
        assert health.missing() == ""
        recorder.record_unapplied("jobs", "0001_initial")
        assert get("/readyz") == (503, "not ready: migrations\n")
    finally:
        recorder.record_unapplied("jobs", "9999_of_the_next_version")
        recorder.record_applied("jobs", "0001_initial")


def test_a_database_that_is_away_is_named_without_its_address(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OperationalError("connection to db-1.internal failed")

    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.connect", refuse)
    assert get("/readyz") == (503, "not ready: database\n")
    assert get("/healthz") == (200, "alive\n")
    assert "db-1" not in caplog.text


def test_a_database_that_keeps_silent_is_asked_once_and_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    let_go, asked = threading.Event(), []

    def silent() -> str:
        asked.append(1)
        let_go.wait()
        return ""

    monkeypatch.setattr(health, "PATIENCE_S", 0.01)
    monkeypatch.setattr(health, "missing", silent)

    async def crowd() -> list[tuple[int, str]]:
        try:
            return await asyncio.gather(*(ask("/readyz") for _ in range(20)))
        finally:
            let_go.set()

    assert set(asyncio.run(crowd())) == {(503, "not ready: database\n")}
    assert asked == [1]
