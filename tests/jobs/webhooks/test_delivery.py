"""What receivers answer, and what becomes of a delivery."""

import json
import threading
from datetime import timedelta

import pytest
from standardwebhooks import Webhook

from anex.core import clock, safe_http
from jobs import storage
from jobs.models import WebhookAttempt, WebhookDelivery
from jobs.run import deliveries
from jobs.selectors import webhooks
from jobs.services import cancellations
from jobs.webhooks import ATTEMPTS, JITTER, WAITS
from tests.https import INSIDE, inner_listener, rules_for
from tests.jobs.api import stages
from tests.jobs.webhooks.driver import add, deliver_due, listening, make_due, ping

pytestmark = pytest.mark.django_db


def statuses(delivery):
    return list(WebhookAttempt.objects.filter(delivery=delivery).order_by("pk").values_list("status", flat=True))


def errors(delivery):
    return list(WebhookAttempt.objects.filter(delivery=delivery).order_by("pk").values_list("error", flat=True))


def test_two_failures_then_success_have_one_id_and_fresh_times(acme, receiver, monkeypatch):
    endpoint, secret = add(acme, receiver.url("/hook"))
    delivery = ping(endpoint)
    began = clock.now()
    for minutes, status in enumerate((500, 500, 200)):
        receiver.answer("/hook", status, b"because")
        monkeypatch.setattr(clock, "now", lambda minutes=minutes: began + timedelta(minutes=2 * minutes))
        make_due(delivery)
        deliver_due()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, statuses(delivery)) == ("delivered", 3, [500, 500, 200])
    heads = [request.headers for request in receiver.requests]
    assert {head["webhook-id"] for head in heads} == {str(delivery.event_id)}
    assert len({head["webhook-timestamp"] for head in heads}) == 3
    assert len({json.loads(request.body)["timestamp"] for request in receiver.requests}) == 3
    for request in receiver.requests:
        assert request.method == "POST"
        assert Webhook(secret).verify(request.body, request.headers)["id"] == str(delivery.event_id)
    assert deliver_due() == []


def test_redirect_is_a_failure_and_is_not_followed(acme, receiver):
    receiver.answer("/elsewhere", 200)
    receiver.answer("/hook", 302, Location=receiver.url("/elsewhere"))
    delivery = ping(add(acme, receiver.url("/hook"))[0])
    deliver_due()
    delivery.refresh_from_db()
    assert (delivery.state, statuses(delivery)) == ("pending", [302])
    assert [request.path for request in receiver.requests] == ["/hook"]


@pytest.mark.parametrize("status", [300, 404, 201, 204, 299])
def test_only_2xx_is_delivered(acme, receiver, status):
    receiver.answer("/hook", status)
    delivery = ping(add(acme, receiver.url("/hook"))[0])
    deliver_due()
    delivery.refresh_from_db()
    assert delivery.state == ("delivered" if status < 300 else "pending")


def test_receiver_that_hangs_is_cut_off(acme, receiver, monkeypatch):
    monkeypatch.setattr(deliveries, "TOTAL_TIMEOUT_S", 0.3)
    receiver.handlers["/hook"] = lambda _, peer: receiver.stopping.wait(20)
    delivery = ping(add(acme, receiver.url("/hook"))[0])
    deliver_due()
    assert errors(delivery) == ["source.test could not be reached (it took too long)."]


def test_receiver_that_drips_its_headers_is_cut_off(acme, receiver, monkeypatch):
    def drip(_, peer):
        while not receiver.stopping.wait(0.02):
            peer.sendall(b"H")

    monkeypatch.setattr(deliveries, "TOTAL_TIMEOUT_S", 0.3)
    receiver.handlers["/hook"] = drip
    delivery = ping(add(acme, receiver.url("/hook"))[0])
    deliver_due()
    assert statuses(delivery) == [None]


def test_body_that_drips_is_cut_off_and_its_status_counts(acme, receiver, monkeypatch):
    def drip(_, peer):
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not receiver.stopping.wait(0.02):
            peer.sendall(b".")

    monkeypatch.setattr(deliveries, "TOTAL_TIMEOUT_S", 0.3)
    receiver.handlers["/hook"] = drip
    delivery = ping(add(acme, receiver.url("/hook"))[0])
    deliver_due()
    assert statuses(delivery) == [200]


def test_ten_gigabytes_of_answer_are_not_read(acme, receiver):
    sent, ended = [], threading.Event()

    def flood(_, peer):
        peer.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 10737418240\r\n\r\n")
        try:
            while True:
                peer.sendall(b"x" * 65536)
                sent.append(65536)
        finally:
            ended.set()

    receiver.handlers["/hook"] = flood
    delivery = ping(add(acme, receiver.url("/hook"))[0])
    deliver_due()
    assert ended.wait(30)
    assert sum(sent) < 64 * 1024 * 1024
    (entry,) = webhooks.attempts(delivery)
    assert (entry.attempt.status, entry.answer) == (500, "x" * 1024)


def test_410_disables_the_endpoint_and_cancels_what_waits(acme, receiver):
    receiver.answer("/hook", 410)
    endpoint = add(acme, receiver.url("/hook"))[0]
    first, second = ping(endpoint), ping(endpoint)
    deliver_due()
    endpoint.refresh_from_db()
    assert (endpoint.disabled_at is not None, endpoint.disabled_reason) == (True, "gone")
    assert {WebhookDelivery.objects.get(pk=delivery.pk).state for delivery in (first, second)} == {
        "failed",
        "cancelled",
    }
    assert len(receiver.requests) == 1


def test_429_is_tried_again_when_the_receiver_says(acme, receiver):
    receiver.answer("/hook", 429, Retry_After="7200")
    delivery = ping(add(acme, receiver.url("/hook"))[0])
    deliver_due()
    assert timedelta(minutes=119) < make_due(delivery) <= timedelta(hours=2)


def test_retry_after_cannot_hasten_nor_park_a_delivery(acme, receiver):
    delivery = ping(add(acme, receiver.url("/hook"))[0])
    receiver.answer("/hook", 503, Retry_After="0")
    deliver_due()
    assert make_due(delivery) > timedelta(seconds=3)
    receiver.answer("/hook", 503, Retry_After="999999999")
    deliver_due()
    assert make_due(delivery) <= timedelta(hours=12)


def test_waits_widen_over_about_a_day_and_end(acme, receiver):
    receiver.answer("/hook", 500)
    delivery = ping(add(acme, receiver.url("/hook"))[0])
    for wait in WAITS:
        assert len(deliver_due()) == 1
        # Some of the wait has passed while it was being looked at.
        assert wait * (1 - JITTER) - 2 <= make_due(delivery).total_seconds() <= wait * (1 + JITTER)
    deliver_due()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, delivery.attempts) == ("failed", ATTEMPTS, len(receiver.requests))
    assert 20 <= sum(WAITS) / 3600 <= 28
    assert list(WAITS) == sorted(WAITS)


def test_endpoint_that_failed_for_days_is_disabled_with_a_reason(acme, receiver):
    receiver.answer("/hook", 500)
    endpoint = add(acme, receiver.url("/hook"))[0]
    endpoint.failing_since = clock.now() - timedelta(days=3)
    endpoint.save()
    delivery = ping(endpoint)
    deliver_due()
    endpoint.refresh_from_db()
    delivery.refresh_from_db()
    assert (endpoint.disabled_reason, delivery.state) == ("failing", "cancelled")


def test_success_ends_a_row_of_failures(acme, receiver):
    receiver.answer("/hook", 500)
    endpoint = add(acme, receiver.url("/hook"))[0]
    delivery = ping(endpoint)
    deliver_due()
    endpoint.refresh_from_db()
    assert endpoint.failing_since is not None
    receiver.answer("/hook", 200)
    make_due(delivery)
    deliver_due()
    endpoint.refresh_from_db()
    assert endpoint.failing_since is None


def test_name_that_has_come_to_lead_inside_is_refused_at_the_send(acme, receiver, authority, monkeypatch):
    delivery = ping(listening(acme, receiver))
    with inner_listener() as inner:
        monkeypatch.setattr(safe_http, "PUBLIC", rules_for(receiver, authority, {"source.test": [INSIDE]}))
        deliver_due()
        assert inner.connections == 0
    assert receiver.requests == []
    assert errors(delivery) == ["source.test leads to an address that is not public."]


def test_answer_is_kept_with_the_job_and_goes_with_it(acme, receiver):
    endpoint = listening(acme, receiver)
    job = stages.quoted(acme)
    cancellations.cancel(organization_id=acme.pk, job_id=job.pk, actor=stages.BUILDER)
    deliver_due()
    (delivery,) = WebhookDelivery.objects.filter(endpoint=endpoint)
    (entry,) = webhooks.attempts(delivery)
    assert entry.answer == "taken"
    assert entry.attempt.answer_key in [stored.key for stored in storage.store().list(f"jobs/{job.pk}/")]
    storage.store().delete([entry.attempt.answer_key])
    assert webhooks.attempts(delivery)[0].answer is None


def test_no_answer_is_kept_for_a_job_whose_data_was_deleted(acme, receiver):
    listening(acme, receiver)
    job = stages.quoted(acme)
    cancellations.cancel(organization_id=acme.pk, job_id=job.pk, actor=stages.BUILDER)
    type(job).objects.filter(pk=job.pk).update(data_deleted_at=clock.now())
    deliver_due()
    assert WebhookAttempt.objects.get().answer_key == ""
    assert list(storage.store().list(f"jobs/{job.pk}/")) == []
