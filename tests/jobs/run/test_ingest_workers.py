"""Copies by real pumps and real worker processes, some of which are killed or stopped: one outcome, one callback."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import OperationalError, connection

from anex.core import clock, safe_http
from anex.core.actors import system
from anex.core.process import die_with_parent
from jobs.models import Ingest, Input
from jobs.run import copier, ingests, pump
from jobs.run.pump import Pump
from jobs.services import ingests as service
from jobs.storage import store
from jobs.storage.interface import StoreUnavailable
from jobs.storage.local import LocalStore
from tests import https
from tests.jobs.run.test_outages import failing
from tests.jobs.run.test_pump import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
LEASE = 1.0
BLOCK = b"x" * 262_144
BLOCKS = 40


@pytest.fixture(autouse=True)
def source(https_server, https_rules, monkeypatch):
    """A source that sends block by block, with a pause after each."""
    monkeypatch.setattr(safe_http, "PUBLIC", https_rules)

    def slowly(_: https.Request, peer) -> None:
        peer.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(BLOCK) * BLOCKS}\r\n\r\n".encode())
        for _ in range(BLOCKS):
            peer.sendall(BLOCK)
            https_server.stopping.wait(0.02)

    https_server.handlers["/rows"] = slowly
    https_server.answer("/hook", 204)
    return https_server


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pump]:
    monkeypatch.setattr(copier, "REST_SECONDS", 0.01)
    monkeypatch.setattr(pump, "POLL_SECONDS", 0.05)
    running = Pump(region="world", lease_seconds=5)
    yield running
    running.stop()


@pytest.fixture
def start(https_server: https.Server, authority: https.Authority) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts worker processes."""
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    env = os.environ | {
        "DJANGO_SETTINGS_MODULE": "anex.settings.test",
        "DATABASE_URL": url,
        "ANEX_STORAGE_DIR": str(settings.ANEX_STORAGE_DIR),
        "PYTHONPATH": str(settings.BASE_DIR),
    }
    arguments = [str(https_server.port), str(authority.folder), str(LEASE)]
    started = []

    def one() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-W", "ignore", "-m", "tests.jobs.run.ingest_worker", *arguments]
        started.append(subprocess.Popen(command, env=env, preexec_fn=die_with_parent(signal.SIGKILL)))
        return started[-1]

    yield one
    for process in started:
        process.kill()
        process.wait()


def ingest(acme, source) -> Input:
    made, _ = service.create(
        organization_id=acme.pk,
        source_url=source.url("/rows"),
        callback_url=source.url("/hook"),
        actor=system("test"),
    )
    return made


def asked(source, path: str) -> int:
    return sum(request.path == path for request in list(source.requests))


def assert_copied_once(made: Input, source) -> None:
    """Ready, whole, told once, and nothing else in the store."""
    wait_until(lambda: Ingest.objects.get(input=made).closed)
    made.refresh_from_db()
    assert (made.status, made.size_bytes) == ("ready", len(BLOCK) * BLOCKS)
    assert sum(map(len, store().stream(made.key, etag=made.etag))) == made.size_bytes
    assert asked(source, "/hook") == 1


def assert_nothing_is_left(made: Input) -> None:
    wait_until(lambda: {stored.key for stored in store().list("inputs/")} == {made.key})


def test_a_pump_copies_and_calls_back(acme, source, worker):
    made = ingest(acme, source)
    worker.start()
    assert_copied_once(made, source)
    assert_nothing_is_left(made)


@pytest.mark.parametrize("error", [OperationalError("gone"), StoreUnavailable("full"), LookupError("bug")])
@pytest.mark.parametrize(("place", "name"), [(ingests, "_settle"), (ingests, "claim"), (LocalStore, "writer")])
def test_a_copy_ends_well_whatever_failed_for_a_while(acme, source, worker, monkeypatch, place, name, error):
    made = ingest(acme, source)
    monkeypatch.setattr(place, name, failing(3, error, getattr(place, name)))
    worker.start()
    assert_copied_once(made, source)
    assert_nothing_is_left(made)


def test_a_worker_that_stops_leaves_the_copy_to_the_next(acme, source, worker):
    made = ingest(acme, source)
    worker.start()
    wait_until(lambda: asked(source, "/rows") == 2)
    worker.stop()
    made.refresh_from_db()
    ingest_row = Ingest.objects.get(input=made)
    assert (made.status, ingest_row.epoch, ingest_row.attempts, ingest_row.closed) == ("copying", None, 0, False)
    second = Pump(region="world", lease_seconds=5)
    second.start()
    assert_copied_once(made, source)
    second.stop()


@pytest.mark.slow
def test_killed_workers_lose_no_copy_and_double_no_callback(acme, source, start):
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    moments = random.Random(seed)
    made = ingest(acme, source)
    for kill in range(3):
        process = start()
        wait_until(lambda: asked(source, "/rows") >= kill + 2)  # noqa: B023
        threading.Event().wait(moments.uniform(0, 0.5))
        process.kill()
        process.wait()
        assert asked(source, "/hook") == 0
    start()
    assert_copied_once(made, source)
    assert_nothing_is_left(made)
    unfinished = store().discard_unfinished(before=clock.now())
    assert unfinished <= 3


@pytest.mark.slow
def test_a_worker_stopped_past_its_lease_commits_nothing_when_it_goes_on(acme, source, start):
    made = ingest(acme, source)
    first = start()
    wait_until(lambda: asked(source, "/rows") == 2)
    first.send_signal(signal.SIGSTOP)
    start()
    assert_copied_once(made, source)
    etag = made.etag
    first.send_signal(signal.SIGCONT)
    other = ingest(acme, source)
    wait_until(lambda: Ingest.objects.get(input=other).closed)
    made.refresh_from_db()
    assert (made.status, made.etag) == ("ready", etag)
    assert asked(source, "/hook") == 2
    assert store().stat(made.key) is not None
