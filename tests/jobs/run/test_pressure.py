"""Queues inside model servers are looked at, and those that do not tell are left alone for a while."""

import dataclasses
from typing import Any, cast

import pytest

from anex.core import clock
from inference.backends import queue
from inference.backends.client import Client
from inference.backends.queue import Queue
from inference.backends.registry import Server
from jobs.run.pressure import PAUSE_SECONDS, Pressure
from jobs.run.window import Window
from tests.jobs.run.test_window import server, taken


async def test_servers_that_rows_are_at_are_asked_and_mute_ones_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    telling, mute, idle = (server(number, concurrency=8) for number in (1, 2, 3))
    asked: list[Server] = []

    async def look(client: Any, one: Server) -> Queue | None:
        asked.append(one)
        return Queue(2, 6) if one == telling else None

    monkeypatch.setattr(queue, "look", look)
    windows = {"a": Window(), "b": Window(), "c": Window()}
    for window, one in zip(windows.values(), (telling, mute, idle), strict=True):
        window.update([one])
    for window in (windows["a"], windows["b"]):
        for _ in range(8):
            await taken(window)
    pressure = Pressure(cast(Client, None), windows)
    for _ in range(3):
        await pressure.look()
    assert asked == [telling, mute, telling, telling]
    later = clock.monotonic() + PAUSE_SECONDS
    monkeypatch.setattr(clock, "monotonic", lambda: later)
    await pressure.look()
    assert asked[4:] == [telling, mute]
    windows["a"].update([dataclasses.replace(telling, concurrency=64)])
    assert windows["a"].least_loaded() is None  # however many it is said to run at once
