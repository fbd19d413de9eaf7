"""What an organization may set up, and what it asks for by hand."""

import base64
from datetime import timedelta

import pytest
from cryptography.fernet import InvalidToken

from accounts.models import AuditEvent
from anex.core import clock, safe_http, sealing
from anex.core.errors import Conflict, InvalidRequest, NotFound
from jobs import storage
from jobs.models import WebhookAttempt, WebhookDelivery, WebhookEndpoint, WebhookEvent
from jobs.run.deliveries import claim
from jobs.services import deliveries, endpoints
from jobs.services.endpoints import Wishes
from jobs.storage.interface import StoreUnavailable
from jobs.storage.local import LocalStore
from jobs.webhooks import CHOICES
from tests.https import INSIDE, rules_for
from tests.jobs.webhooks.driver import ACTOR, add, deliver_due, listening, ping

pytestmark = pytest.mark.django_db


@pytest.fixture
def endpoint(acme, receiver):
    return listening(acme, receiver)


def refusal(organization, url="https://source.test/hook", **wishes):
    with pytest.raises(InvalidRequest) as refused:
        endpoints.create(organization_id=organization.pk, wishes=Wishes(url, **wishes), actor=ACTOR)
    return refused.value.message


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/hook",
        "https://127.0.0.1/hook",
        "https://[::1]/hook",
        "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/hook",
        "https://user:password@example.com/hook",
        "https://localhost/hook",
        "",
        "https://example.com/" + "a" * 2000,
    ],
)
def test_address_that_may_not_be_called_is_refused(acme, url):
    assert refusal(acme, url)
    assert not WebhookEndpoint.objects.exists()


def test_name_that_leads_inside_is_refused(acme, receiver, authority, monkeypatch):
    monkeypatch.setattr(safe_http, "PUBLIC", rules_for(receiver, authority, {"inside.test": [INSIDE]}))
    assert "an address that is not public" in refusal(acme, receiver.url("/hook", host="inside.test"))


def test_unknown_events_and_long_descriptions_are_refused(acme, receiver):
    assert refusal(acme, receiver.url(), events=["test"])
    assert refusal(acme, receiver.url(), description="x" * 201)
    assert refusal(acme, receiver.url(), description="two\nlines")


def test_choosing_every_event_is_choosing_none(acme, receiver):
    assert listening(acme, receiver, events=list(CHOICES)).events == []


def test_ten_endpoints_are_the_most(acme, globex, receiver):
    first, *_ = [listening(acme, receiver) for _ in range(10)]
    with pytest.raises(Conflict):
        listening(acme, receiver)
    listening(globex, receiver)
    endpoints.delete(organization_id=acme.pk, endpoint_id=first.pk, actor=ACTOR)
    listening(acme, receiver)


def test_secret_is_kept_encrypted_and_in_no_record(acme, receiver):
    endpoint, secret = add(acme, receiver.url("/hook?token=theirs"))
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    assert secret not in endpoint.sealed_secret
    assert sealing.unseal(endpoint.sealed_secret, purpose=endpoints.PURPOSE) == secret
    with pytest.raises(InvalidToken):
        sealing.unseal(endpoint.sealed_secret, purpose="another")
    record = AuditEvent.objects.get(action="webhook.create")
    assert "theirs" not in str(record.details)
    assert secret not in str(record.details)


def test_key_of_a_former_secret_key_still_opens(acme, receiver, settings):
    endpoint, secret = add(acme, receiver.url("/hook"))
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another"
    assert sealing.unseal(endpoint.sealed_secret, purpose=endpoints.PURPOSE) == secret


def test_overlap_cannot_be_ended_twice(acme, endpoint):
    ids = {"organization_id": acme.pk, "endpoint_id": endpoint.pk, "actor": ACTOR}
    with pytest.raises(Conflict):
        endpoints.end_overlap(**ids)
    endpoints.rotate(**ids)
    endpoints.end_overlap(**ids)
    with pytest.raises(Conflict):
        endpoints.end_overlap(**ids)


def test_change_is_for_what_waits_too(acme, endpoint, receiver):
    receiver.answer("/new", 200)
    ping(endpoint)
    wishes = Wishes(receiver.url("/new"), ["failed"], "moved")
    endpoints.change(organization_id=acme.pk, endpoint_id=endpoint.pk, wishes=wishes, actor=ACTOR)
    deliver_due()
    assert [request.path for request in receiver.requests] == ["/new"]
    endpoint.refresh_from_db()
    assert (endpoint.events, endpoint.description) == (["failed"], "moved")


def test_deleting_cancels_what_waits_and_forgets_the_secret(acme, endpoint, receiver):
    delivery = ping(endpoint)
    endpoints.delete(organization_id=acme.pk, endpoint_id=endpoint.pk, actor=ACTOR)
    assert deliver_due() == []
    delivery.refresh_from_db()
    endpoint.refresh_from_db()
    assert (delivery.state, endpoint.sealed_secret, receiver.requests) == ("cancelled", "", [])
    with pytest.raises(NotFound):
        deliveries.resend(organization_id=acme.pk, delivery_id=delivery.pk, actor=ACTOR)


def test_disabled_endpoint_gets_nothing_until_it_is_enabled(acme, endpoint):
    ids = {"organization_id": acme.pk, "endpoint_id": endpoint.pk, "actor": ACTOR}
    waiting = ping(endpoint)
    endpoints.disable(**ids)
    with pytest.raises(Conflict):
        endpoints.disable(**ids)
    with pytest.raises(Conflict):
        deliveries.send_test(**ids)
    with pytest.raises(Conflict):
        deliveries.resend(organization_id=acme.pk, delivery_id=waiting.pk, actor=ACTOR)
    assert deliver_due() == []
    endpoints.enable(**ids)
    with pytest.raises(Conflict):
        endpoints.enable(**ids)
    deliveries.resend(organization_id=acme.pk, delivery_id=waiting.pk, actor=ACTOR)
    assert [outcome.status for outcome in deliver_due()] == [200]


def test_test_passes_every_filter(acme, receiver):
    only_failed = listening(acme, receiver, events=["failed"])
    ping(only_failed)
    assert [outcome.status for outcome in deliver_due()] == [200]
    assert b'"type":"test"' in receiver.requests[0].body


def test_resend_has_the_same_id_and_a_whole_schedule(acme, endpoint, receiver):
    delivery = ping(endpoint)
    deliver_due()
    WebhookDelivery.objects.update(tries_left=0, state="failed")
    receiver.answer("/hook", 500)
    deliveries.resend(organization_id=acme.pk, delivery_id=delivery.pk, actor=ACTOR)
    deliver_due()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, delivery.tries_left) == ("pending", 2, 8)
    assert len({request.headers["webhook-id"] for request in receiver.requests}) == 1


def test_resend_while_an_attempt_is_under_way_does_not_start_another(acme, endpoint):
    delivery = ping(endpoint)
    assert len(claim(region="world", limit=1)) == 1
    deliveries.resend(organization_id=acme.pk, delivery_id=delivery.pk, actor=ACTOR)
    assert claim(region="world", limit=1) == []


def test_every_change_is_in_the_audit_record(acme, endpoint, receiver):
    ids = {"organization_id": acme.pk, "endpoint_id": endpoint.pk, "actor": ACTOR}
    endpoints.change(wishes=Wishes(receiver.url("/hook")), **ids)
    endpoints.rotate(**ids)
    endpoints.end_overlap(**ids)
    delivery = deliveries.send_test(**ids)
    deliveries.resend(organization_id=acme.pk, delivery_id=delivery.pk, actor=ACTOR)
    endpoints.disable(**ids)
    endpoints.enable(**ids)
    endpoints.delete(**ids)
    written = AuditEvent.objects.filter(action__startswith="webhook.", target=str(endpoint.pk)).order_by("pk")
    assert list(written.values_list("action", flat=True)) == [
        "webhook.create",
        "webhook.change",
        "webhook.rotate",
        "webhook.end_overlap",
        "webhook.test",
        "webhook.resend",
        "webhook.disable",
        "webhook.enable",
        "webhook.delete",
    ]


def test_log_is_forgotten_after_thirty_days_with_the_answers(acme, endpoint):
    ping(endpoint)
    deliver_due()
    assert len(list(storage.store().list("tests/"))) == 1
    assert deliveries.forget(clock.now() + timedelta(days=29)) == 0
    assert deliveries.forget(clock.now() + timedelta(days=30)) == 1
    assert deliveries.forget(clock.now() + timedelta(days=30)) == 0
    assert not WebhookEvent.objects.exists()
    assert list(storage.store().list("tests/")) == []


def test_an_answer_that_cannot_be_deleted_keeps_no_other_event(acme, endpoint, monkeypatch):
    for _ in range(3):
        ping(endpoint)
        deliver_due()
    events = list(WebhookEvent.objects.order_by("at").values_list("pk", flat=True))
    stuck = WebhookAttempt.objects.get(delivery__event=events[0]).answer_key
    really_delete = LocalStore.delete

    def delete(objects, keys):
        named = list(keys)
        really_delete(objects, [key for key in named if key != stuck])
        if stuck in named:
            raise StoreUnavailable("That object cannot be deleted.")

    monkeypatch.setattr(LocalStore, "delete", delete)
    monkeypatch.setattr(deliveries, "BATCH", 2)
    assert deliveries.forget(clock.now() + timedelta(days=30)) == 2
    assert list(WebhookEvent.objects.values_list("pk", flat=True)) == events[:1]
