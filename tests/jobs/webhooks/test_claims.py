"""Who sends what: every delivery by one worker at a time, at least once, and nobody waits for a slow receiver."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from urllib.parse import urlsplit, urlunsplit

import pytest
from django.db import connection, connections

from anex.core import clock
from anex.settings.base import BASE_DIR
from jobs.models import WebhookAttempt, WebhookDelivery
from jobs.run import deliveries
from jobs.run.deliverer import Deliverer
from jobs.services import endpoints, messages
from jobs.storage.interface import StoreUnavailable
from tests.jobs.webhooks.driver import ACTOR, add, deliver_due, listening, ping

KILLED_BEFORE_MARKING = """
import os, signal, ssl, django
django.setup()
from ipaddress import ip_address
from anex.core import safe_http
from anex.core.destinations import Rules
from jobs.run import deliveries
from jobs.run.deliverer import Deliverer
trust = safe_http.trusting(ssl.create_default_context(cafile="{authority}"))
safe_http.PUBLIC = Rules(lambda _: True, frozenset({{{port}}}), lambda: trust, lambda *_: [ip_address("127.0.0.1")])
deliveries.settle = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
running = Deliverer(region="world")
running.start()
running.wait()
"""


@pytest.fixture
def endpoint(acme, receiver):
    return listening(acme, receiver)


def claim(limit=100):
    return deliveries.claim(region="world", limit=limit)


def claimed_endpoints(claims):
    found = WebhookDelivery.objects.filter(pk__in=[claim.delivery_id for claim in claims])
    return list(found.values_list("endpoint_id", flat=True))


@pytest.mark.django_db(transaction=True)
def test_two_workers_never_hold_the_same_delivery(acme, globex, receiver):
    for organization in (acme, globex):
        for _ in range(3):
            endpoint = listening(organization, receiver)
            ping(endpoint), ping(endpoint)
    start = threading.Barrier(4)

    def work():
        start.wait()
        claims = [found for _ in range(6) for found in claim(limit=1)]
        connections.close_all()
        return claims

    with ThreadPoolExecutor(4) as pool:
        taken = [found for worker in [pool.submit(work) for _ in range(4)] for found in worker.result()]
    assert len(taken) == len({found.delivery_id for found in taken}) == 12
    assert {found.number for found in taken} == {1}


@pytest.mark.django_db(transaction=True)
def test_worker_killed_between_sending_and_marking_sends_again_under_the_same_id(endpoint, receiver, authority):
    delivery = ping(endpoint)
    tests = connection.settings_dict["NAME"]
    address = urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{tests}"))
    program = KILLED_BEFORE_MARKING.format(authority=authority.folder / "authority.pem", port=receiver.port)
    environment = {**os.environ, "DATABASE_URL": address, "DJANGO_SETTINGS_MODULE": "anex.settings.test"}
    dead = subprocess.run([sys.executable, "-c", program], cwd=BASE_DIR, env=environment, timeout=60, check=False)
    assert dead.returncode == -signal.SIGKILL
    assert len(receiver.requests) == 1
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == ("pending", 1)
    assert deliver_due() == []
    WebhookDelivery.objects.update(leased_until=clock.now())
    deliver_due()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == ("delivered", 2)
    assert {request.headers["webhook-id"] for request in receiver.requests} == {str(delivery.event_id)}


@pytest.mark.django_db
def test_late_outcome_is_logged_and_changes_nothing(endpoint, receiver):
    delivery = ping(endpoint)
    (late,) = claim()
    receiver.answer("/hook", 500)
    task = deliveries.prepare(late)
    outcome = deliveries.send(task)
    receiver.answer("/hook", 200)
    WebhookDelivery.objects.update(leased_until=clock.now())
    deliver_due()
    deliveries.settle(late, outcome)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == ("delivered", 2)
    assert list(WebhookAttempt.objects.order_by("number").values_list("number", "status")) == [(1, 500), (2, 200)]


@pytest.mark.django_db
def test_one_endpoint_takes_few_of_the_places(acme, globex, receiver):
    slow, other = listening(acme, receiver), listening(globex, receiver)
    for _ in range(20):
        ping(slow)
    ping(other)
    first = claimed_endpoints(claim())
    assert (first.count(slow.pk), first.count(other.pk)) == (deliveries.MOST_PER_ENDPOINT, 1)
    assert claim() == []


@pytest.mark.django_db
def test_one_organization_takes_few_of_the_places(acme, globex, receiver):
    many = [listening(acme, receiver) for _ in range(8)]
    for endpoint in many:
        ping(endpoint), ping(endpoint)
    ping(listening(globex, receiver))
    taken = claimed_endpoints(claim())
    assert len(taken) == deliveries.MOST_PER_ORGANIZATION + 1


@pytest.mark.django_db
def test_deliveries_of_another_region_are_left_to_its_workers(endpoint):
    ping(endpoint)
    assert deliveries.claim(region="eu", limit=10) == []
    assert len(claim()) == 1


@pytest.mark.django_db
def test_claimed_delivery_of_an_endpoint_just_deleted_is_not_sent(acme, endpoint, receiver):
    delivery = ping(endpoint)
    (held,) = claim()
    endpoints.delete(organization_id=acme.pk, endpoint_id=endpoint.pk, actor=ACTOR)
    assert deliveries.prepare(held) is None
    delivery.refresh_from_db()
    assert (delivery.state, receiver.requests) == ("cancelled", [])


@pytest.mark.django_db
def test_store_that_is_away_costs_no_attempt(endpoint, monkeypatch):
    def away(*_, **__):
        raise StoreUnavailable("away")

    delivery = ping(endpoint)
    monkeypatch.setattr(messages, "render", away)
    (held,) = claim()
    left = WebhookDelivery.objects.get().tries_left
    assert deliveries.prepare(held) is None
    delivery.refresh_from_db()
    assert (delivery.state, delivery.leased_until, delivery.tries_left) == ("pending", None, left + 1)
    assert timedelta(0) < delivery.next_attempt_at - clock.now() <= deliveries.STORE_REST


@pytest.mark.django_db(transaction=True)
def test_receiver_that_hangs_holds_up_nobody_else(acme, globex, receiver):
    go_on, arrived = threading.Event(), threading.Event()

    def hang(_, peer):
        go_on.wait(20)
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    def take(_, peer):
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        arrived.set()

    receiver.handlers.update({"/slow": hang, "/quick": take})
    slow = add(acme, receiver.url("/slow"))[0]
    waiting = [ping(slow) for _ in range(5)]
    running = Deliverer(region="world")
    running.start()
    ping(add(acme, receiver.url("/quick"))[0])
    running.ring()
    assert arrived.wait(20)
    assert not WebhookDelivery.objects.filter(endpoint=slow, state="delivered").exists()
    running.stop_soon()
    go_on.set()
    running.wait()
    # What was under way when the worker stopped is written down; the rest waits for the next one.
    states = [WebhookDelivery.objects.get(pk=delivery.pk).state for delivery in waiting]
    assert (states.count("delivered"), states.count("pending")) == (2, 3)


@pytest.mark.django_db(transaction=True)
def test_event_that_cannot_be_rendered_fails_by_itself(acme, receiver):
    broken, good = listening(acme, receiver, "/broken"), listening(acme, receiver)
    type(broken).objects.filter(pk=broken.pk).update(sealed_secret="sealed with a key that is lost")
    lost, sent = ping(broken), ping(good)
    running = Deliverer(region="world")
    arrived = threading.Event()

    def take(_, peer):
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        arrived.set()

    receiver.handlers["/hook"] = take
    running.start()
    assert arrived.wait(20)
    running.stop_soon()
    running.wait()
    assert WebhookAttempt.objects.get(delivery=lost).error == "It could not be sent."
    assert WebhookDelivery.objects.get(pk=sent.pk).state == "delivered"


@pytest.mark.django_db(transaction=True)
def test_a_slow_store_holds_up_its_own_event_alone(acme, receiver, monkeypatch):
    slow, quick = listening(acme, receiver, "/slow"), listening(acme, receiver)
    held, arrived, go_on = ping(slow), threading.Event(), threading.Event()
    render = messages.render

    def read_slowly(event, endpoint, **more):
        if endpoint.pk == slow.pk:
            go_on.wait(20)
        return render(event, endpoint, **more)

    def take(_, peer):
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        arrived.set()

    monkeypatch.setattr(messages, "render", read_slowly)
    receiver.handlers["/hook"] = take
    running = Deliverer(region="world")
    running.start()
    ping(quick)
    running.ring()
    assert arrived.wait(15)
    assert WebhookDelivery.objects.get(pk=held.pk).state == "pending"
    go_on.set()
    running.stop_soon()
    running.wait()
