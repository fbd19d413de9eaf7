"""Postgres keeps its connections and never answers: whoever waits gives up, and goes on once it is back."""

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from psycopg.conninfo import make_conninfo

from anex.core import patience
from anex.core.errors import Unavailable
from anex.core.patience import Patience
from anex.core.threads import Threads, readers
from realtime import database
from realtime.database import Away, Database
from tests.relays import Relay, to_port, to_socket

pytestmark = pytest.mark.django_db(transaction=True)

# Far below what nobody would notice, far above what a loaded machine takes to answer.
SOON_S = 0.5


@pytest.fixture
def relay(monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    """In front of the tests' own Postgres."""
    host, port = _place()
    lead = to_socket(lambda: str(Path(host) / f".s.PGSQL.{port}")) if host.startswith("/") else to_port(lambda: port)
    with Relay(lead) as relay:
        yield relay


def _place() -> tuple[str, int]:
    with connection.cursor():
        info = connection.connection.info
        return info.host, info.port


def _told(relay: Relay) -> dict[str, Any]:
    with connection.cursor():
        info = connection.connection.info
    return {
        "dbname": info.dbname,
        "user": info.user,
        "password": info.password,
        "host": "127.0.0.1",
        "port": relay.port,
    }


def through(relay: Relay) -> Any:
    """A connection of Django's that leads through it."""
    wrapper, told = connection.copy(), _told(relay)
    named = {"NAME": told["dbname"], "HOST": told["host"], "PORT": told["port"], "OPTIONS": {"sslmode": "disable"}}
    wrapper.settings_dict = wrapper.settings_dict | named
    return wrapper


def ask(wrapper: Any) -> Any:
    with wrapper.cursor() as cursor:
        cursor.execute("SELECT 1")
        return cursor.fetchone()


@pytest.mark.parametrize("way", ["silent", "stopped"])
def test_a_statement_is_given_up_with_its_connection(relay: Relay, monkeypatch: pytest.MonkeyPatch, way: Any) -> None:
    monkeypatch.setattr(patience, "_chosen", Patience(statement_s=SOON_S, store_s=1, store_tries=1))
    wrapper = through(relay)
    assert ask(wrapper) == (1,)
    relay.go(way)
    for _ in range(2):
        with pytest.raises(OperationalError):
            ask(wrapper)
    assert wrapper.connection.closed
    relay.go("there")
    wrapper.close_if_unusable_or_obsolete()
    assert ask(wrapper) == (1,)
    wrapper.close()


@pytest.mark.parametrize(("kind", "is_kept"), [(patience.WEB, False), (patience.WORKER, True)])
def test_a_connection_that_no_other_request_finds_ends_with_its_own(
    relay: Relay, monkeypatch: pytest.MonkeyPatch, kind: Patience, is_kept: bool
) -> None:
    monkeypatch.setattr(patience, "_chosen", kind)
    wrapper = through(relay)
    wrapper.settings_dict |= {"CONN_MAX_AGE": 60}
    assert ask(wrapper) == (1,)
    wrapper.close_if_unusable_or_obsolete()
    assert (wrapper.connection is not None) == is_kept
    wrapper.close()


def test_a_command_waits_as_long_as_it_takes(relay: Relay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_chosen", patience.COMMAND)
    wrapper = through(relay)
    with wrapper.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.6)")
    wrapper.close()


def test_the_pool_of_the_hot_path_gives_up_and_loses_no_connection(
    relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make_conninfo(**_told(relay), sslmode="disable", connect_timeout=2)
    monkeypatch.setattr(database, "_conninfo", lambda: place)
    monkeypatch.setattr(database, "PATIENCE_S", SOON_S)
    monkeypatch.setattr(database, "CHECK_S", SOON_S)

    async def play() -> None:
        asked = Database()
        await asked.open()
        for way in ("silent", "stopped", "refused"):
            await _until_answered(asked)
            relay.go(way)  # type: ignore[arg-type]
            began = time.monotonic()
            tries = await asyncio.gather(*(asked.ask("SELECT 1", []) for _ in range(20)), return_exceptions=True)
            assert {type(error) for error in tries} == {Away}
            # psycopg asks a silent server to cancel for ten seconds.
            assert time.monotonic() - began < 8
            relay.go("there")
        await _until_answered(asked)
        assert await asyncio.gather(*(asked.ask("SELECT 1", []) for _ in range(40))) == [[(1,)]] * 40
        await asked.close()

    asyncio.run(play())


async def _until_answered(asked: Database) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                await asked.ask("SELECT 1", [])
                return
            except Away:
                await asyncio.sleep(0.05)


async def test_who_waits_for_a_thread_waits_no_longer_than_for_what_it_does() -> None:
    threads = Threads(1, "test", patience_s=0.05)
    with pytest.raises(Unavailable):
        await asyncio.gather(threads.run(time.sleep, 0.3), threads.run(time.sleep, 0))


def test_who_reads_several_things_waits_for_none_once_one_has_failed() -> None:
    slow = threading.Event()

    def read(place: int) -> None:
        if place:
            slow.wait(20)
        raise Unavailable("away")

    with pytest.raises(Unavailable), readers(2, "test") as reading:
        list(reading.map(read, range(6)))
    assert not slow.is_set()
    slow.set()
