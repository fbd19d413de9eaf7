"""Webhooks of real workers that are killed again and again, to a receiver that fails every third time."""

import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from tests.faults.books import chat_lines
from tests.https import Authority, Server
from tests.sizes import sized
from tests.stack import ROOT, Stack

KILLS = sized(4, 8)
STEPS = {"submitted", "estimating", "cost_ready", "in_progress", "completed"}
# A worker to which this machine is public; what takes minutes takes moments.
WORKER = """
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
webhooks.WAITS = (0.2,) * len(webhooks.WAITS)
deliveries.LEASE = timedelta(seconds=2)
deliveries.TOTAL_TIMEOUT_S = 1.5
from celery.__main__ import main
sys.argv[0] = "celery"
sys.exit(main())
"""
ENDPOINT = """
import django, sys
django.setup()
from anex.core import safe_http
from anex.core.actors import system
from jobs.services import endpoints
safe_http.check_url = lambda url: None
wishes = endpoints.Wishes(sys.argv[2])
print(endpoints.create(organization_id=sys.argv[1], wishes=wishes, actor=system("test")).secret)
"""


def start_worker(stack: Stack, server: Server, authority: Authority) -> None:
    program = WORKER.format(authority=authority.folder / "authority.pem", port=server.port)
    options = ["--pool", "solo", "--without-gossip", "--without-mingle", "-n", "worker-0@%h"]
    stack.start("worker-0", ["-c", program, "-A", "anex", "worker", *options])


def add_endpoint(stack: Stack, url: str) -> str:
    command = [sys.executable, "-W", "ignore", "-c", ENDPOINT, stack.organization_id, url]
    done = subprocess.run(command, cwd=ROOT, env=stack.environment, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


class FailingReceiver:
    """Answers 500 to every third request, to an event three times at most, else 200; knows which event it took."""

    def __init__(self, server: Server) -> None:
        self.arrived = threading.Semaphore(0)
        self.taken: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._count = 0
        server.handlers["/hook"] = self._answer

    def _answer(self, request, peer) -> None:
        with self._lock:
            self._count += 1
            event = request.headers["webhook-id"]
            status = 500 if self._count % 3 == 0 and self._refused[event] < 3 else 200
            (self.taken if status == 200 else self._refused)[event] += 1
        self.arrived.release()
        # Time enough for a kill between sending and writing down.
        threading.Event().wait(0.05)
        peer.sendall(f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n".encode())


def wait_until_delivered(stack: Stack) -> None:
    deadline = time.monotonic() + 120
    while stack.query("SELECT count(*) FROM jobs_webhookdelivery WHERE state <> 'delivered'") != [(0,)]:
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.slow
def test_every_event_arrives_at_least_once_though_workers_are_killed(https_server: Server, authority) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    moments = random.Random(seed)
    receiver = FailingReceiver(https_server)
    with (
        tempfile.TemporaryDirectory(prefix="anex-webhooks-", dir="/var/tmp") as folder,
        Stack(Path(folder), lease_seconds=1.5, workers=0) as stack,
    ):
        secret = add_endpoint(stack, https_server.url("/hook"))
        start_worker(stack, https_server, authority)
        jobs = [stack.submit(chat_lines(40, prefix=f"job{number}"), max_output_tokens=16) for number in range(3)]
        for kill in range(KILLS):
            if kill == KILLS // 2:
                for job_id in jobs:
                    stack.wait_for(job_id, "cost_ready")
                    stack.api("POST", f"/jobs/{job_id}/approve")
            if receiver.arrived.acquire(timeout=10):
                time.sleep(moments.uniform(0, 0.06))
            stack.kill("worker-0")
            start_worker(stack, https_server, authority)
        for job_id in jobs:
            stack.wait_for(job_id, "done")
        wait_until_delivered(stack)
        stack.processes["worker-0"].send_signal(signal.SIGTERM)
        assert stack.processes["worker-0"].wait(40) == 0
        written = stack.query("SELECT id::text, type, job_id::text FROM jobs_webhookevent")
    assert Counter((kind, job_id) for _, kind, job_id in written) == Counter(
        (kind, job_id) for kind in STEPS for job_id in jobs
    )
    assert set(receiver.taken) == {event_id for event_id, _, _ in written}
    told = {event_id: (kind, job_id) for event_id, kind, job_id in written}
    for request in https_server.requests:
        # The library refuses what is older than five minutes; nothing here is.
        event = Webhook(secret).verify(request.body, request.headers)
        assert request.headers["webhook-id"] == event["id"]
        assert told[event["id"]] == (event["type"], event["data"]["job_id"])
    assert max(Counter(json.loads(request.body)["id"] for request in https_server.requests).values()) <= 9
    print(f"{len(written)} events, {len(https_server.requests)} requests, {KILLS} kills")
