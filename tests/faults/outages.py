"""Postgres, Valkey and the store are taken away one after the other, while every surface is used; then the books.

    make outages ARGS="--seconds 30"

Each is refused, silent (a host that is gone, whose connections stay) and stopped (it goes on where it was). Prints how
every surface answered meanwhile, after how long at most, and how soon it was answered as before.
"""

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from jobs.storage.s3 import connect
from tests import https
from tests.faults import chaos_books
from tests.faults.chaos_books import Order
from tests.faults.outage_load import FILE, Answer, Client, Submitter, all_answers, surfaces
from tests.faults.test_webhooks import FailingReceiver, add_endpoint
from tests.jobs.storage import strict_s3
from tests.relays import Relay, Way, to_port, to_socket
from tests.stack import Stack

BUCKET: Final = "anex-outages"
CREDENTIALS: Final = {"AWS_ACCESS_KEY_ID": strict_s3.ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": strict_s3.SECRET}
# What docs/outages.md promises, in seconds: the longest answer, and until all is as before.
LONGEST_S: Final = {"postgres": 15.0, "valkey": 10.0, "store": 45.0}
RECOVERED_S: Final = 60.0
SET_UP: Final = """
import django
django.setup()
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from accounts.models import User
from anex.core.actors import system
from inference.backends import registry
registry.configure(model_id="scripted-embed", base_url="http://127.0.0.1:{port}/v1", served_name="scripted-embed",
                   concurrency=64, actor=system("setup"))
ada = User.objects.get()
session = SessionStore()
session[SESSION_KEY], session[HASH_SESSION_KEY] = str(ada.pk), ada.get_session_auth_hash()
session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
session.save()
print(session.session_key)
"""
# A worker to which this machine is public, and which waits moments instead of minutes.
WORKER: Final = """
import ssl, sys
from datetime import timedelta
from ipaddress import ip_address
import django
django.setup()
from anex.core import safe_http
from anex.core.destinations import Rules
from jobs import webhooks
from jobs.run import deliveries
trust = safe_http.trusting(ssl.create_default_context(cafile="{authority}"))
safe_http.PUBLIC = Rules(lambda _: True, frozenset({{{port}}}), lambda: trust, lambda *_: [ip_address("127.0.0.1")])
webhooks.WAITS = (1.0,) * 60
webhooks.ATTEMPTS = 61
deliveries.LEASE = timedelta(seconds=5)
deliveries.STORE_REST = timedelta(seconds=1)
from celery.__main__ import main
sys.argv[0] = "celery"
sys.exit(main())
"""
BOOKS: Final = """
SELECT (SELECT count(*) FROM billing_usagerecord WHERE status = 'answered'),
       (SELECT coalesce(sum(amount_nano), 0)::bigint FROM billing_usagerecord WHERE status IS NOT NULL),
       (SELECT count(*) FROM billing_transfer WHERE kind = 'charge')
"""


@dataclass(frozen=True, slots=True)
class Outage:
    """A service that is away so long, in one of the ways."""

    service: str
    way: Way
    seconds: float


class Lasting(Stack):
    """The platform behind relays, with a scheduler and workers whose webhooks arrive here."""

    def __init__(self, state: Path, receiver: https.Server, authority: https.Authority, **options: Any) -> None:
        super().__init__(state, workers=2, lease_seconds=5, **options)
        self._program = WORKER.format(authority=authority.folder / "authority.pem", port=receiver.port)
        self.relays: dict[str, Relay] = {}

    @property
    def environment(self) -> dict[str, str]:
        """Everything is reached through its relay, once there is one."""
        environment = super().environment
        if self.relays:
            there = urlsplit(self.postgres.url())
            port = self.relays["postgres"].port
            login = there.netloc.rpartition("@")[0]
            environment["DATABASE_URL"] = f"postgres://{login}@127.0.0.1:{port}{there.path}?sslmode=disable"
            broker = urlsplit(self.valkey.url())
            place = f"{broker.netloc.rpartition(':')[0]}:{self.relays['valkey'].port}"
            environment["REDIS_URL"] = broker._replace(netloc=place).geturl()
        return environment

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """As any client: what is told to come back does, but for what would be done twice."""
        for _ in range(20):
            status, answer = super().request(method, path, body)
            if status != 503 or path == "/jobs":
                break
            time.sleep(1)
        return status, answer

    def start_worker(self, name: str = "worker-0") -> Any:
        """A Celery worker whose webhooks may come to this machine."""
        options = ["--pool", "solo", "--without-gossip", "--without-mingle", "-n", f"{name}@%h"]
        return self.start(name, ["-c", self._program, "-A", "anex", "worker", *options])

    def start_scheduler(self) -> None:
        """Celery's clock of the sweeps."""
        schedule = str(self.state / "schedule")
        self.start("scheduler", ["-m", "celery", "-A", "anex", "beat", "-s", schedule])


@contextmanager
def platform(**options: Any) -> Iterator[tuple[Lasting, https.Server]]:
    """All of it, every service behind its relay."""
    with ExitStack() as open_ones:
        folder = Path(open_ones.enter_context(tempfile.TemporaryDirectory(prefix="anex-outages-", dir="/var/tmp")))
        authority = https.make_authority(folder)
        receiver = open_ones.enter_context(https.serving(authority))
        gate = open_ones.enter_context(strict_s3.gate())
        patch = open_ones.enter_context(pytest.MonkeyPatch.context())
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        connect(endpoint_url=gate.url, region=strict_s3.REGION).create_bucket(Bucket=BUCKET)
        store = open_ones.enter_context(Relay(to_port(lambda: urlsplit(gate.url).port or 0)))
        environment = {
            "DJANGO_SETTINGS_MODULE": "tests.faults.outage_settings",
            "ANEX_S3_BUCKET": BUCKET,
            "ANEX_S3_ENDPOINT_URL": f"http://127.0.0.1:{store.port}",
            "ANEX_S3_REGION": strict_s3.REGION,
        }
        stack = Lasting(folder, receiver, authority, environment=environment, **options)
        database = open_ones.enter_context(Relay(to_socket(lambda: f"{stack.postgres.socket_dir}/.s.PGSQL.5432")))
        broker = open_ones.enter_context(Relay(to_port(lambda: stack.valkey.port)))
        stack.relays = {"postgres": database, "valkey": broker, "store": store}
        yield open_ones.enter_context(stack), receiver


@dataclass(slots=True)
class Load:
    """Everybody who asks, and what is known of the jobs that run."""

    clients: list[Client]
    submitter: Submitter
    orders: dict[str, Order]
    over: threading.Event

    def end(self) -> None:
        """Ask nothing more."""
        self.over.set()
        for each in (*self.clients, self.submitter):
            each.join()

    def answers(self, since: float, until: float) -> list[Answer]:
        """Those to what was asked in a time."""
        answers = all_answers([*self.clients, self.submitter])
        return [answer for answer in answers if since <= answer.asked_at < until]


def begin(stack: Lasting, rows: int, submits: int) -> Load:
    """A finished job, a file, two jobs that run, and one client per surface."""
    session = stack.run(SET_UP.format(port=stack.engine_port)).strip()
    stack.start_scheduler()
    dice = random.Random(0)
    first = Order("first", dice, 20, is_batch=False)
    done = first.submit(stack)
    stack.wait_for(done, "done")
    ((input_id,),) = stack.query(f"SELECT input_id::text FROM jobs_job WHERE id = '{done}'")
    orders = [Order("native", dice, rows, is_batch=False), Order("batch", dice, rows, is_batch=True)]
    running = {done: first} | {order.submit(stack): order for order in orders}
    over = threading.Event()
    asked = surfaces(done_job=done, file_id=_upload(stack))
    clients = [Client(stack, session, surface, over) for surface in asked]
    submitter = Submitter(stack, input_id, over, submits)
    for each in (*clients, submitter):
        each.start()
    return Load(clients, submitter, running, over)


def _upload(stack: Stack) -> str:
    import httpx

    url, told = f"http://127.0.0.1:{stack.web_port}/v1/files", {"Authorization": f"Bearer {stack.secret}"}
    answer = httpx.post(url, headers=told, files={"file": ("rows.jsonl", FILE)}, data={"purpose": "batch"})
    file_id: str = answer.json()["id"]
    return file_id


def strike(stack: Lasting, load: Load, outage: Outage, rows: int) -> list[str]:
    """One outage while a job of so many rows begins to run; what was wrong. Prints what was answered."""
    if rows:
        order = Order(f"{outage.service} {outage.way}", random.Random(len(load.orders)), rows, is_batch=False)
        load.orders[order.submit(stack)] = order
    began = time.monotonic()
    stack.relays[outage.service].go(outage.way)
    time.sleep(outage.seconds)
    stack.relays[outage.service].go("there")
    back = time.monotonic()
    recovered = _recovered(load, back)
    answers = load.answers(began, time.monotonic())
    return _told(outage, load, [each for each in answers if each.asked_at < back], recovered)


def _recovered(load: Load, back: float) -> dict[str, float]:
    """By surface, after how long the first request was answered as before."""
    names = {client.name for client in load.clients}
    while True:
        good: dict[str, float] = {}
        for answer in load.answers(back, float("inf")):
            if answer.surface in names and answer.status not in (0, 503) and not answer.wrong:
                good.setdefault(answer.surface, answer.asked_at + answer.took_s - back)
        if len(good) >= len(names) or time.monotonic() - back > RECOVERED_S:
            return {name: good.get(name, float("inf")) for name in names}
        time.sleep(0.2)


def _told(outage: Outage, load: Load, answers: list[Answer], recovered: dict[str, float]) -> list[str]:
    needs = {client.name: client.needs for client in load.clients}
    print(f"\n{outage.service} {outage.way} for {outage.seconds:g} s")
    print(f"{'surface':22} {'answers':24} {'slowest s':>9} {'as before after s':>18}")
    wrong = []
    for name in (*needs, load.submitter.name):
        own = [answer for answer in answers if answer.surface == name]
        counts = Counter(answer.status for answer in own)
        told = ", ".join(f"{count} x {status}" for status, count in sorted(counts.items()))
        slowest = max((answer.took_s for answer in own), default=0.0)
        print(f"{name:22} {told:24} {slowest:9.1f} {recovered.get(name, 0.0):18.1f}")
        wrong += [f"{name}: {answer.wrong}" for answer in own if answer.wrong]
        if slowest > LONGEST_S[outage.service]:
            wrong.append(f"{name} took {slowest:.1f} s")
        if outage.service not in needs.get(name, {"postgres"}) and counts.keys() & {0, 503}:
            wrong.append(f"{name} does not need what was away: {told}")
        if recovered.get(name, 0.0) > RECOVERED_S:
            wrong.append(f"{name} did not come back")
    sys.stdout.flush()
    return [f"{outage.service} {outage.way}: {each}" for each in dict.fromkeys(wrong)]


def finish(stack: Lasting, load: Load, receiver: FailingReceiver, patience_s: float) -> None:
    """Everything that was begun ends, once, and the books agree."""
    _check_sweeps(stack)
    load.end()
    for job_id in load.orders:
        stack.wait_for(job_id, "done", seconds=patience_s)
    for job_id in load.submitter.ids.values():
        _cancelled(stack, job_id)
    ((jobs,),) = stack.query("SELECT count(*) FROM jobs_job")
    # Of a key whose last attempt was cut off the job may be there.
    assert 0 <= jobs - len(load.orders) - len(set(load.submitter.ids.values())) <= 1
    for job_id, order in load.orders.items():
        chaos_books.check(stack, job_id, order)
    _check_files(stack, load)
    _check_webhooks(stack, receiver)
    chaos_books.check_nothing_is_left(stack)
    good = [answer for answer in load.answers(0, float("inf")) if answer.surface.startswith("realtime")]
    answered = sum(answer.status == 200 and answer.surface != "realtime: models" for answer in good)
    ((billed, _, _),) = stack.query(BOOKS)
    print(f"{answered} realtime answers, {billed} billed; {jobs} jobs, {len(receiver.taken)} events told")
    assert billed == answered


def _check_sweeps(stack: Stack) -> None:
    """The scheduler sends, and workers take what it sends."""

    def taken() -> int:
        return sum((stack.state / f"worker-{number}.log").read_bytes().count(b"Task jobs.sweep[") for number in (0, 1))

    before, deadline = taken(), time.monotonic() + RECOVERED_S
    while taken() == before:
        assert time.monotonic() < deadline, "no sweep is taken any more"
        time.sleep(0.2)


def _cancelled(stack: Stack, job_id: str) -> None:
    deadline = time.monotonic() + 60
    while stack.api("GET", f"/jobs/{job_id}")["status"] != "cancelled":
        stack.request("POST", f"/jobs/{job_id}/cancel")
        assert time.monotonic() < deadline, job_id
        time.sleep(0.1)


def _check_files(stack: Stack, load: Load) -> None:
    kept = [file_id for client in load.clients for file_id in client.kept]
    there = {name for (name,) in stack.query("SELECT replace(id::text, '-', '') FROM jobs_file")}
    assert {file_id.removeprefix("file-") for file_id in kept} <= there, (kept[:2], list(there)[:2])
    assert len(set(kept)) == len(kept)


def _check_webhooks(stack: Stack, receiver: FailingReceiver) -> None:
    deadline = time.monotonic() + 60
    while left := stack.query("SELECT * FROM jobs_webhookdelivery WHERE state <> 'delivered' LIMIT 3"):
        assert time.monotonic() < deadline, left
        time.sleep(0.2)
    assert set(receiver.taken) == {event for (event,) in stack.query("SELECT id::text FROM jobs_webhookevent")}


def play(outages: list[Outage], *, rows: int, rows_each: int, submits: int, patience_s: float, durable: bool) -> None:
    """The platform, its load, these outages, the books. AssertionError where something is not as promised."""
    with platform(durable=durable) as (stack, server):
        receiver = FailingReceiver(server)
        add_endpoint(stack, server.url("/hook"))
        load = begin(stack, rows, submits)
        wrong = []
        try:
            for outage in outages:
                wrong += strike(stack, load, outage, rows_each)
            finish(stack, load, receiver, patience_s)
        finally:
            load.over.set()
            if wrong or sys.exc_info()[0]:
                print(json.dumps(wrong, indent=1))
                _show_log(stack)
        assert wrong == []


def _show_log(stack: Stack) -> None:
    for name in ("web.log", "postgres/postgres.log"):
        lines = (stack.state / name).read_text(errors="replace").splitlines()
        told = [line for line in lines if any(word in line for word in ("WARNING", "ERROR", "Error", "FATAL"))]
        print(name, *told[-60:], sep="\n")


def main() -> int:
    """Each service in each of the ways; 1 where something was not as promised."""
    parser = argparse.ArgumentParser(prog="make outages", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--services", default="postgres,valkey,store")
    parser.add_argument("--ways", default="refused,silent,stopped")
    parser.add_argument("--rows", type=int, default=5_000)
    chosen = parser.parse_args()
    ways: Any = chosen.ways.split(",")
    outages = [Outage(service, way, chosen.seconds) for service in chosen.services.split(",") for way in ways]
    play(outages, rows=chosen.rows, rows_each=chosen.rows, submits=200, patience_s=900, durable=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
