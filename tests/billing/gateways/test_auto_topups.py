"""Automatic top-ups, on either gateway: off until turned on, under their cap, one at a time."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection

from accounts.models import AuditEvent, Organization
from accounts.services import alerts
from anex.core import clock
from anex.core.errors import Conflict, InvalidRequest
from billing.gateways.interface import Event
from billing.models import AutoTopup, Topup
from billing.services import auto_topups, corrections, failed_topups, payment_events
from billing.tasks import sweep
from tests.billing.gateways.test_contract import STAFF, cents, deliver, start
from tests.factories import actor_of, make_organization, make_user


def save_method(client, gateway, acme):
    """Acme pays $20 once and saves how."""
    for signed in gateway.saved(start(acme, save_method=True)):
        deliver(client, gateway, signed)


def configure(acme, **changes):
    terms = {"enabled": True, "threshold_cents": 1_000, "cents": 3_000, "monthly_cap_cents": 6_000} | changes
    auto_topups.configure(organization_id=acme.pk, actor=actor_of(make_user("ada")), **terms)


def run_low(acme, source="c"):
    corrections.adjust(organization_id=acme.pk, cents=990 - cents(acme), reason="r", source=source, actor=STAFF)


@pytest.fixture
def ready(client, gateway, acme):
    save_method(client, gateway, acme)
    configure(acme)
    return acme


def test_saved_method_alone_charges_nothing(client, gateway, acme):
    save_method(client, gateway, acme)
    run_low(acme)
    assert auto_topups.run(clock.now()) == 0


def test_nothing_is_saved_unless_asked(client, gateway, acme):
    for signed in gateway.saved(start(acme)):
        deliver(client, gateway, signed)
    with pytest.raises(Conflict, match="save this payment method"):
        configure(acme)


def test_balance_below_the_threshold_is_topped_up_once(gateway, ready):
    assert auto_topups.run(clock.now()) == 0
    run_low(ready)
    assert auto_topups.run(clock.now()) == 1
    assert auto_topups.run(clock.now()) == 0
    assert cents(ready) == 3_990
    assert Topup.objects.get(automatic=True).state == "paid"


def test_monthly_cap_is_kept_and_a_new_month_starts_anew(gateway, ready):
    paid = []
    for round in range(3):
        run_low(ready, source=f"c:{round}")
        paid.append(auto_topups.run(clock.now()))
    assert paid == [1, 1, 0]
    assert auto_topups.run(clock.now() + timedelta(days=32)) == 1


def test_declined_charge_turns_it_off_and_says_why(ada, gateway, ready):
    gateway.decline_saved_method(ready.pk)
    run_low(ready)
    assert auto_topups.run(clock.now()) == 0
    row = AutoTopup.objects.get()
    assert not row.enabled
    assert "declined" in row.failure
    assert Topup.objects.get(automatic=True).state == "failed"
    assert "declined" in ada.get("/credits/add").content.decode()
    assert AuditEvent.objects.filter(action="credits.auto_topup", reason__startswith="off: ").exists()


def test_charge_under_way_at_a_kill_is_finished_by_the_next_sweep(gateway, ready):
    run_low(ready)
    left = Topup.objects.create(
        organization=ready, gateway=gateway.name, cents=3_000, automatic=True, created_by="system:auto_topup"
    )
    before = gateway.charges()
    assert auto_topups.run(clock.now()) == 1
    left.refresh_from_db()
    assert left.state == "paid"
    assert gateway.charges() == before + 1
    assert cents(ready) == 3_990


def test_refusal_is_told_once_by_e_mail_whoever_hears_of_it_first(client, gateway, ready, mailoutbox):
    gateway.decline_saved_method(ready.pk)
    run_low(ready)
    left = Topup.objects.create(
        organization=ready, gateway=gateway.name, cents=3_000, automatic=True, created_by="system:auto_topup"
    )
    payment_events.apply(gateway.name, Event("e_1", "unpaid", topup_id=left.pk))
    assert not AutoTopup.objects.get().enabled
    assert auto_topups.run(clock.now()) == 0
    assert not failed_topups.close(left.pk, gateway=gateway.name, failure="The card was declined.")
    assert alerts.send_due(clock.now()) == 1
    (mail,) = mailoutbox
    assert "$30.00" in mail.body
    assert "The payment was not made." in mail.body
    assert AuditEvent.objects.filter(action="credits.auto_topup", reason__startswith="off: ").count() == 1


def test_charge_nobody_answered_for_most_of_a_day_is_not_asked_for_again(gateway, ready):
    run_low(ready)
    left = Topup.objects.create(
        organization=ready, gateway=gateway.name, cents=3_000, automatic=True, created_by="system:auto_topup"
    )
    before = gateway.charges()
    assert auto_topups.run(clock.now() + auto_topups.ASKED_FOR) == 0
    left.refresh_from_db()
    assert (left.state, gateway.charges()) == ("failed", before)
    assert not AutoTopup.objects.get().enabled


def test_saved_method_is_forgotten_unless_it_is_being_charged(ada, gateway, ready):
    left = Topup.objects.create(
        organization=ready, gateway=gateway.name, cents=3_000, automatic=True, created_by="system:auto_topup"
    )
    assert "being charged just now" in ada.post("/credits/auto/forget", follow=True).content.decode()
    assert AutoTopup.objects.exists()
    left.delete()
    assert "is forgotten" in ada.post("/credits/auto/forget", follow=True).content.decode()
    assert not AutoTopup.objects.exists()


def under_way(acme, gateway):
    return Topup.objects.create(
        organization=acme, gateway=gateway, cents=3_000, automatic=True, created_by="system:auto_topup"
    )


def test_turned_off_while_it_is_charged_it_asks_no_more_and_books_what_was_paid(gateway, ready):
    run_low(ready)
    left, before = under_way(ready, gateway.name), gateway.charges()
    configure(ready, enabled=False)
    assert (auto_topups.run(clock.now()), gateway.charges()) == (0, before)
    auto_topups.forget_method(organization_id=ready.pk, actor=STAFF)
    paid = Event("e_1", "paid", payment="p_1", topup_id=left.pk, cents=3_000)
    payment_events.apply(gateway.name, paid)
    assert cents(ready) == 3_990


def test_suspended_organization_is_not_charged(gateway, ready):
    run_low(ready)
    Organization.objects.update(suspended_at=clock.now())
    assert auto_topups.run(clock.now()) == 0
    assert not Topup.objects.filter(automatic=True).exists()
    Organization.objects.update(suspended_at=None)
    assert auto_topups.run(clock.now()) == 1


def test_charge_of_another_gateway_is_not_asked_of_this_one(gateway, ready):
    run_low(ready)
    left, before = under_way(ready, "former"), gateway.charges()
    assert (auto_topups.run(clock.now()), gateway.charges()) == (0, before)
    left.refresh_from_db()
    assert left.state == "failed"


def test_practice_page_saves_a_method_that_is_declined_later(ada, acme):
    topup = start(acme, save_method=True)
    ada.post(f"/billing/local/{topup.pk}", {"decision": "pay", "declines_later": "on"})
    configure(acme)
    run_low(acme)
    assert auto_topups.run(clock.now()) == 0
    assert "declined" in AutoTopup.objects.get().failure


@pytest.mark.django_db(transaction=True)
def test_eight_sweeps_at_once_charge_once(client, gateway):
    acme = make_organization("Acme")
    save_method(client, gateway, acme)
    configure(acme)
    run_low(acme)

    def run(_):
        try:
            auto_topups.run(clock.now())
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))
    assert cents(acme) == 3_990


def test_sweep_task_tops_up(gateway, ready):
    run_low(ready)
    sweep()
    assert cents(ready) == 3_990


@pytest.mark.parametrize(
    "changes",
    [
        {"threshold_cents": 0},
        {"threshold_cents": -1},
        {"cents": 499},
        {"cents": 2**64},
        {"monthly_cap_cents": 2_999},
        {"monthly_cap_cents": 2**64},
    ],
)
def test_terms_that_make_no_sense_are_refused(client, gateway, acme, changes):
    save_method(client, gateway, acme)
    with pytest.raises(InvalidRequest):
        configure(acme, **changes)
    assert not AutoTopup.objects.get().enabled


def test_form_turns_it_on_and_off(ada, client, gateway, acme):
    save_method(client, gateway, acme)
    terms = {"enabled": "on", "threshold": "10.00", "dollars": "30.00", "monthly_cap": "60.00"}
    assert ada.post("/credits/auto", terms, follow=True).content.decode().count("Automatic top-ups are on.") == 1
    row = AutoTopup.objects.get()
    assert (row.enabled, row.threshold_cents, row.cents, row.monthly_cap_cents) == (True, 1_000, 3_000, 6_000)
    assert 'value="10' in ada.get("/credits/add").content.decode()
    ada.post("/credits/auto", {})
    assert not AutoTopup.objects.get().enabled
    refused = ada.post("/credits/auto", terms | {"monthly_cap": "1"})
    assert refused.status_code == 400
    assert "at least one top-up" in refused.content.decode()
