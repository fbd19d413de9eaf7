"""What is Stripe's own: its client's calls, its outages, its event types."""

import pytest
from django.core import checks

from anex.core import clock
from anex.core.errors import Unavailable
from billing.models import Topup
from billing.services import auto_topups, topups
from tests.billing.gateways import stripe_double
from tests.billing.gateways.test_auto_topups import configure, run_low, save_method
from tests.billing.gateways.test_contract import cents, deliver, start

pytestmark = pytest.mark.django_db


@pytest.fixture
def gateway(stripe_driver):
    return stripe_driver


def test_stripe_out_of_reach_is_503_and_the_same_form_works_later(gateway, acme):
    gateway.double.down = True
    with pytest.raises(Unavailable) as refusal:
        start(acme)
    assert refusal.value.code == "gateway_unavailable"
    topup = Topup.objects.get()
    gateway.double.down = False
    assert start(acme, topup_id=topup.pk).checkout_ref


def test_return_page_stays_confirming_while_stripe_is_out_of_reach(ada, gateway, acme):
    topup = start(acme)
    gateway.pay(topup)
    gateway.double.down = True
    assert "Confirming…" in ada.get(f"/credits/payments/{topup.pk}").content.decode()
    gateway.double.down = False
    assert "$20.00 was added" in ada.get(f"/credits/payments/{topup.pk}").content.decode()


def test_outage_leaves_an_automatic_charge_for_the_next_sweep(client, gateway, acme):
    save_method(client, gateway, acme)
    configure(acme)
    run_low(acme)
    gateway.double.down = True
    assert auto_topups.run(clock.now()) == 0
    gateway.double.down = False
    assert auto_topups.run(clock.now()) == 1
    assert cents(acme) == 3_990


def test_both_events_of_one_payment_count_once(client, gateway, acme):
    topup = start(acme)
    for signed in gateway.saved(topup):
        deliver(client, gateway, signed)
    assert cents(acme) == 2_000


def test_session_that_waits_for_a_bank_is_paid_only_when_the_bank_says_so(client, gateway, acme):
    topup = start(acme)
    session = gateway.double.pay(topup.checkout_ref)
    deliver(client, gateway, gateway.sign("checkout.session.completed", session | {"payment_status": "unpaid"}))
    assert cents(acme) == 0
    deliver(client, gateway, gateway.sign("checkout.session.async_payment_succeeded", session))
    assert cents(acme) == 2_000


@pytest.mark.parametrize(
    ("kind", "thing"),
    [
        ("customer.created", {"id": "cus_1", "object": "customer"}),
        ("checkout.session.completed", {"id": "cs_x", "object": "checkout.session", "metadata": {}}),
        ("checkout.session.completed", {"id": "cs_x", "object": "checkout.session", "metadata": None}),
        ("refund.created", stripe_double.refund_object("re_9", "pi_of_somebody_else", 500)),
        ("refund.created", stripe_double.refund_object("re_9", "pi_1", 500) | {"currency": "eur"}),
        ("refund.created", stripe_double.refund_object("re_9", "pi_1", 500, status="requires_action")),
        ("payment_intent.payment_failed", stripe_double.intent_object("pi_9", "x", 500)),
    ],
)
def test_event_about_something_else_is_taken_and_changes_nothing(client, gateway, acme, kind, thing):
    deliver(client, gateway, gateway.sign(kind, thing))
    assert cents(acme) == 0


def test_payment_of_less_than_was_asked_books_what_was_paid(client, gateway, acme):
    topup = start(acme)
    session = gateway.double.pay(topup.checkout_ref)
    deliver(client, gateway, gateway.sign("checkout.session.completed", session | {"amount_total": 700}))
    assert cents(acme) == 700


def test_webhook_of_a_gateway_that_is_not_configured_is_not_found(client, gateway):
    assert client.post("/billing/webhooks/local", b"{}", content_type="application/json").status_code == 404
    assert client.get("/billing/webhooks/stripe").status_code == 405


def test_key_without_the_secret_of_the_webhook_stops_the_start(gateway, settings):
    settings.ANEX_STRIPE_WEBHOOK_SECRET = ""
    assert "billing.E002" in [found.id for found in checks.run_checks()]


def test_installation_without_payments_says_so(ada, acme, settings, client):
    settings.ANEX_STRIPE_SECRET_KEY = ""
    settings.ANEX_LOCAL_PAYMENTS = False
    assert "takes no payments online" in ada.get("/credits/add").content.decode()
    assert "/credits/add" not in ada.get("/credits").content.decode()
    assert "grant them" in ada.get("/dashboard").content.decode()
    with pytest.raises(Unavailable):
        topups.start(organization_id=acme.pk, topup_id=acme.pk, cents=500, save_method=False, actor=topups_actor())
    assert client.post("/billing/webhooks/stripe", b"{}", content_type="application/json").status_code == 404
    assert auto_topups.run(clock.now()) == 0


def topups_actor():
    from anex.core.actors import system

    return system("tests")
