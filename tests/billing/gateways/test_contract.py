"""What holds of every gateway: money is booked once, whatever comes in whatever order."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import AuditEvent, Organization
from anex.core import clock
from anex.core.actors import Actor
from anex.core.errors import Conflict, InvalidRequest, NotFound
from anex.core.money import cents_to_nano
from billing.models import PaymentEvent, Topup, Transfer
from billing.selectors import balances
from billing.services import topups
from tests.factories import actor_of, add_member, make_organization, make_user, staff_browser

STAFF = Actor("staff", "7")


def start(organization, cents=2_000, topup_id=None, save_method=False):
    topup_id = topup_id or uuid4()
    topups.start(
        organization_id=organization.pk,
        topup_id=topup_id,
        cents=cents,
        save_method=save_method,
        actor=actor_of(make_user("ada")),
    )
    return Topup.objects.get(pk=topup_id)


def deliver(client, gateway, signed, status=200):
    body, signature = signed
    answer = client.post(gateway.path, body, content_type="application/json", headers={"Stripe-Signature": signature})
    assert answer.status_code == status, answer.content


def cents(organization):
    balance = balances.get(organization.pk).balance_nano
    assert balance % 10**7 == 0
    return balance // 10**7


def test_payment_is_booked_when_its_event_comes(client, gateway, acme):
    topup = start(acme)
    assert cents(acme) == 0
    deliver(client, gateway, gateway.pay(topup))
    topup.refresh_from_db()
    assert (cents(acme), topup.state) == (2_000, "paid")
    line = Transfer.objects.get()
    assert (line.kind, line.debit.code, line.actor) == ("payment", "payments", str(actor_of(make_user("ada"))))


def test_event_that_comes_five_times_counts_once(client, gateway, acme):
    topup = start(acme)
    signed = gateway.pay(topup)
    for _ in range(5):
        deliver(client, gateway, signed)
    assert cents(acme) == 2_000


def test_return_page_books_the_payment_when_it_is_first(client, gateway, acme):
    topup = start(acme)
    signed = gateway.pay(topup)
    assert topups.confirm(organization_id=acme.pk, topup_id=topup.pk).state == "paid"
    deliver(client, gateway, signed)
    assert cents(acme) == 2_000


@pytest.mark.django_db(transaction=True)
def test_return_page_and_events_racing_book_the_payment_once(client, gateway):
    acme = make_organization("Acme")
    topup = start(acme)
    bodies = [gateway.pay(topup) for _ in range(5)]

    def run(place):
        try:
            if place % 2:
                topups.confirm(organization_id=acme.pk, topup_id=topup.pk)
            else:
                deliver(client, gateway, bodies[place // 2])
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(run, range(10)))
    assert cents(acme) == 2_000


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_payment_refund_dispute_and_its_win_add_up_in_any_order(client, gateway, acme, order):
    topup = start(acme)
    payment = gateway.payment(topup) if gateway.name == "stripe" else f"lp_{topup.pk}"
    events = [
        gateway.pay(topup),
        gateway.refund(payment, "re_1", 500),
        gateway.dispute(payment, "dp_1", 700),
        gateway.dispute(payment, "dp_1", 700, won=True),
    ]
    for place in order:
        deliver(client, gateway, events[place])
        deliver(client, gateway, events[place])
    assert cents(acme) == 1_500


def test_refund_that_came_before_its_payment_takes_nothing_until_then(client, gateway, acme):
    topup = start(acme)
    deliver(client, gateway, gateway.refund(gateway.payment(topup), "re_1", 500))
    assert not Transfer.objects.exists()
    deliver(client, gateway, gateway.pay(topup))
    assert cents(acme) == 1_500


def test_failed_refund_gives_the_credits_back(client, gateway, acme):
    topup = start(acme)
    deliver(client, gateway, gateway.pay(topup))
    payment = gateway.payment(topup)
    deliver(client, gateway, gateway.refund(payment, "re_1", 500))
    assert cents(acme) == 1_500
    deliver(client, gateway, gateway.refund(payment, "re_1", 500, failed=True))
    assert cents(acme) == 2_000


def test_dispute_goes_below_zero_and_suspends(client, gateway, acme):
    topup = start(acme)
    deliver(client, gateway, gateway.pay(topup))
    topups_spent(acme, 1_900)
    deliver(client, gateway, gateway.dispute(gateway.payment(topup), "dp_1", 2_000))
    assert cents(acme) == -1_900
    assert Organization.objects.get(pk=acme.pk).suspended_at
    assert AuditEvent.objects.get(action="organization.suspend").actor_id == "payments"


def topups_spent(organization, amount):
    from billing.services import holds

    nano = cents_to_nano(amount)
    holds.place(organization_id=organization.pk, source="job:1", amount_nano=nano, actor=STAFF)
    holds.settle(source="job:1", charge_nano=nano, actor=STAFF)


def test_dispute_that_the_balance_covers_suspends_nobody(client, gateway, acme):
    topup = start(acme)
    deliver(client, gateway, gateway.pay(topup))
    deliver(client, gateway, gateway.dispute(gateway.payment(topup), "dp_1", 2_000))
    assert cents(acme) == 0
    assert not Organization.objects.get(pk=acme.pk).suspended_at


def test_payment_page_that_was_left_is_not_paid(client, gateway, acme):
    topup = start(acme)
    deliver(client, gateway, gateway.close(topup))
    topup.refresh_from_db()
    assert (topup.state, cents(acme)) == ("failed", 0)


def test_payment_that_comes_after_the_page_was_given_up_still_counts(client, gateway, acme):
    topup = start(acme)
    assert topups.close_stale(clock.now()) == 0
    assert topups.close_stale(clock.now() + topups.STALE) == 1
    deliver(client, gateway, gateway.pay(topup))
    topup.refresh_from_db()
    assert (topup.state, topup.failure, cents(acme)) == ("paid", "", 2_000)


def test_sweep_finds_a_payment_whose_event_never_came(gateway, acme):
    topup = start(acme)
    gateway.pay(topup)
    assert topups.close_stale(clock.now() + topups.STALE) == 0
    assert cents(acme) == 2_000


@pytest.mark.parametrize("spoil", ["body", "signature", "nothing", "old", "garbage"])
def test_event_that_is_not_signed_as_it_should_be_changes_nothing(client, gateway, acme, spoil):
    body, signature = signed = gateway.pay(start(acme))
    spoiled = {
        "body": (body.replace(b"2000", b"9000"), signature),
        "signature": (body, signature[:-1] + ("0" if signature[-1] != "0" else "1")),
        "nothing": (body, ""),
        "old": gateway.aged(signed, 301),
        "garbage": (b"\xff\xfe", signature),
    }[spoil]
    deliver(client, gateway, spoiled, status=400)
    assert not PaymentEvent.objects.exists()
    assert cents(acme) == 0


def test_event_signed_four_minutes_ago_is_taken(client, gateway, acme):
    deliver(client, gateway, gateway.aged(gateway.pay(start(acme)), 240))
    assert cents(acme) == 2_000


def test_same_form_sent_twice_is_one_payment(client, gateway, acme):
    first = start(acme)
    again = start(acme, topup_id=first.pk)
    assert (again.pk, again.checkout_ref) == (first.pk, first.checkout_ref)
    with pytest.raises(Conflict):
        start(acme, topup_id=first.pk, cents=3_000)
    with pytest.raises(Conflict):
        start(make_organization("Globex"), topup_id=first.pk)
    assert Topup.objects.count() == 1


@pytest.mark.parametrize("amount", [0, -1, 499, 1_000_001, 2**64, float("nan"), 1e308])
def test_absurd_amount_is_refused(gateway, acme, amount):
    with pytest.raises(InvalidRequest, match=r"from \$5\.00 to \$10,000\.00"):
        start(acme, cents=amount)
    assert not Topup.objects.exists()


def test_staff_refund_goes_through_the_gateway_once(client, gateway, acme):
    topup = start(acme)
    deliver(client, gateway, gateway.pay(topup))
    key = uuid4()
    order = {"topup_id": topup.pk, "cents": 500, "reason": "asked for it", "key": key, "actor": STAFF}
    assert topups.refund(**order)
    assert not topups.refund(**order)
    assert cents(acme) == 1_500
    assert AuditEvent.objects.filter(action="credits.payment_refund").count() == 1
    for wrong in ({"cents": 2_001}, {"cents": 0}, {"reason": " "}):
        with pytest.raises(InvalidRequest):
            topups.refund(**(order | wrong | {"key": uuid4()}))


def test_open_payment_cannot_be_refunded(gateway, acme):
    with pytest.raises(Conflict):
        topups.refund(topup_id=start(acme).pk, cents=500, reason="r", key=uuid4(), actor=STAFF)


def test_page_says_confirming_until_the_payment_is_booked(ada, client, gateway, acme):
    topup = start(acme)
    open_page = ada.get(f"/credits/payments/{topup.pk}").content.decode()
    assert "Confirming…" in open_page
    assert "every 2s" in open_page
    deliver(client, gateway, gateway.pay(topup))
    paid = ada.get(f"/credits/payments/{topup.pk}", headers={"HX-Request": "true"}).content.decode()
    assert "$20.00 was added" in paid
    assert "hx-get" not in paid
    assert "<html" not in paid


def test_receipt_shows_what_was_paid_and_what_went_back(ada, client, gateway, acme):
    topup = start(acme)
    assert ada.get(f"/credits/payments/{topup.pk}/receipt").status_code == 404
    deliver(client, gateway, gateway.pay(topup))
    deliver(client, gateway, gateway.refund(gateway.payment(topup), "re_1", 500))
    html = ada.get(f"/credits/payments/{topup.pk}/receipt").content.decode()
    for shown in ("$20.00", "Refunded", "$5.00", str(topup.pk)):
        assert shown in html
    assert f"/credits/payments/{topup.pk}/receipt" in ada.get("/credits").content.decode()


def test_payment_of_another_organization_is_not_found(ada, client, gateway, acme):
    topup = start(make_organization("Globex"))
    deliver(client, gateway, gateway.pay(topup))
    for page in PAGES:
        answers = []
        for topup_id in (topup.pk, uuid4()):
            with CaptureQueriesContext(connection) as queries:
                answer = ada.get(page.format(topup_id))
            answers.append((answer.status_code, answer.content, len(queries)))
        assert answers[0] == answers[1]
        assert answers[0][0] == 404
    with pytest.raises(NotFound):
        topups.confirm(organization_id=acme.pk, topup_id=topup.pk)


PAGES = ("/credits/payments/{}", "/credits/payments/{}/receipt", "/billing/local/{}")


def test_form_leads_to_the_payment_page(ada, gateway, acme):
    page = ada.get("/credits/add")
    topup_id = page.context["form"]["topup_id"].value()
    answer = ada.post("/credits/add", {"topup_id": topup_id, "dollars": "20.00"})
    topup = Topup.objects.get()
    assert answer.status_code == 302
    assert answer["Location"].startswith(("https://checkout.stripe.com/", "http://127.0.0.1:8000/billing/local/"))
    assert (str(topup.pk), topup.cents, topup.gateway) == (str(topup_id), 2_000, gateway.name)
    refused = ada.post("/credits/add", {"topup_id": uuid4(), "dollars": "1"})
    assert refused.status_code == 400
    assert "Choose an amount" in refused.content.decode()


def test_members_may_not_add_credits(client, gateway, acme):
    client.force_login(add_member(acme, "bob"))
    assert client.get("/credits/add").status_code == 403
    assert client.post("/credits/auto", {}).status_code == 403
    assert "/credits/add" not in client.get("/credits").content.decode()


def test_staff_refund_a_payment_on_its_page(client, gateway, acme):
    topup = start(acme)
    deliver(client, gateway, gateway.pay(topup))
    client = staff_browser()
    path = reverse("admin:billing_topup_refund", args=[topup.pk])
    assert "$20.00 paid by Acme" in client.get(path).content.decode()
    form = {"dollars": "5.00", "reason": "asked for it", "nonce": uuid4()}
    assert client.post(path, form).status_code == 302
    client.post(path, form)
    assert cents(acme) == 1_500
    refused = client.post(path, {"dollars": "21.00", "reason": "r", "nonce": uuid4()})
    assert "at most what was paid" in refused.content.decode()
    assert client.get(reverse("admin:billing_topup_changelist"), {"q": "Acme"}).status_code == 200
    assert client.get(reverse("admin:billing_topup_refund", args=[uuid4()])).status_code == 404
