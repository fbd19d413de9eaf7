"""Holds: placed only when available, settled once, captured within what is held."""

import logging
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import uuid4

import psycopg
import pytest
from django.db import connection

from accounts.models import Organization
from anex.core.actors import system
from anex.core.errors import Conflict, InvalidRequest, NotFound, PaymentRequired
from anex.core.money import cents_to_nano
from billing.models import Account, Hold, Transfer
from billing.selectors import balances
from billing.services import corrections, grants, holds
from tests.bench.holds import spend

ACTOR = system("tests")


def place(organization, source="job:1", cents=400):
    return holds.place(organization_id=organization.id, source=source, amount_nano=cents_to_nano(cents), actor=ACTOR)


def settle(source="job:1", cents=100):
    return holds.settle(source=source, charge_nano=cents_to_nano(cents), actor=ACTOR)


def test_hold_reduces_available_but_not_balance(rich):
    assert place(rich)
    balance = balances.get(rich.id)
    assert (balance.balance_nano, balance.held_nano, balance.available_nano) == (10 * 10**9, 4 * 10**9, 6 * 10**9)


def test_hold_of_exactly_what_is_available_is_placed(rich):
    assert place(rich, cents=1_000)
    assert balances.get(rich.id).available_nano == 0


def test_hold_above_what_is_available_is_refused_with_the_figures(rich):
    place(rich, cents=400)
    with pytest.raises(PaymentRequired) as refusal:
        holds.place(organization_id=rich.id, source="job:2", amount_nano=6 * 10**9 + 1, actor=ACTOR)
    assert refusal.value.status == 402
    assert refusal.value.message == (
        "This needs $6.01 and $6.00 is available: your balance is $10.00 ($4.00 of it is held for other work). "
        "Add $0.01 or more and try again."
    )
    assert Hold.objects.count() == 1


def test_refused_hold_leaves_the_transaction_usable(rich):
    with pytest.raises(PaymentRequired):
        place(rich, cents=1_001)
    assert place(rich, cents=1_000)


def test_organization_without_an_account_is_out_of_credits(organization):
    with pytest.raises(PaymentRequired, match=r"^This needs \$4\.00 and \$0\.00 is available"):
        place(organization)


def test_credit_limit_counts_as_available_and_has_its_own_refusal(organization):
    grants.give(organization_id=organization.id, cents=1, reason="r", source="g", actor=ACTOR)
    Account.objects.filter(organization=organization).update(credit_limit_nano=cents_to_nano(500))
    assert place(organization, cents=501)
    with pytest.raises(PaymentRequired) as refusal:
        place(organization, source="job:2", cents=1)
    assert refusal.value.message == "credit limit reached - contact support@anex.sh"


def test_same_source_is_the_same_hold(rich):
    assert place(rich)
    assert not place(rich, cents=900)
    assert balances.get(rich.id).held_nano == cents_to_nano(400)


def test_source_of_a_settled_hold_places_no_second_one(rich):
    place(rich)
    settle()
    assert not place(rich)
    assert balances.get(rich.id).held_nano == 0


def test_source_of_another_organization_is_a_conflict(rich):
    place(rich)
    other = Organization.objects.create(name="Other")
    grants.give(organization_id=other.id, cents=1_000, reason="r", source="g:other", actor=ACTOR)
    with pytest.raises(Conflict):
        place(other)
    assert balances.get(other.id).held_nano == 0


@pytest.mark.parametrize("amount", [0, -1, 2**63 - 1, 2**64 - 1, 10**400, float("nan"), 1e308, float("inf")])
def test_absurd_hold_is_refused(rich, amount):
    with pytest.raises(InvalidRequest, match="at most"):
        holds.place(organization_id=rich.id, source="job:1", amount_nano=amount, actor=ACTOR)
    assert balances.get(rich.id).held_nano == 0


def test_hold_for_an_unknown_organization_is_not_found(db):
    with pytest.raises(NotFound):
        holds.place(organization_id=uuid4(), source="job:1", amount_nano=1, actor=ACTOR)


def test_settlement_captures_the_charge_and_releases_the_rest(rich):
    place(rich)
    assert settle() == holds.Settlement(captured_nano=10**9, released_nano=3 * 10**9)
    balance = balances.get(rich.id)
    assert (balance.balance_nano, balance.held_nano) == (9 * 10**9, 0)
    line = Transfer.objects.get(source="job:1:capture")
    assert (line.debit.organization, line.credit.code, line.kind) == (rich, "revenue", "charge")


def test_settlement_at_zero_releases_everything_and_writes_no_line(rich):
    place(rich)
    assert settle(cents=0) == holds.Settlement(captured_nano=0, released_nano=4 * 10**9)
    assert not Transfer.objects.filter(kind="charge").exists()


@pytest.mark.parametrize("charge", [4 * 10**9 + 1, 2**64, 10**400])
def test_charge_above_the_hold_is_cut_to_it_and_logged(rich, charge, caplog):
    place(rich)
    with caplog.at_level(logging.WARNING, logger="billing.services.holds"):
        settlement = holds.settle(source="job:1", charge_nano=charge, actor=ACTOR)
    assert settlement == holds.Settlement(captured_nano=4 * 10**9, released_nano=0)
    assert f"{charge - 4 * 10**9} nano-dollars above the hold" in caplog.text


def test_negative_charge_never_raises_the_balance(rich):
    place(rich)
    assert holds.settle(source="job:1", charge_nano=-(2**64), actor=ACTOR).captured_nano == 0
    assert balances.get(rich.id).balance_nano == 10 * 10**9


def test_second_settlement_returns_the_first_outcome(rich):
    place(rich)
    first = settle(cents=100)
    assert settle(cents=300) == first
    assert settle(cents=0) == first
    assert balances.get(rich.id).balance_nano == 9 * 10**9


def test_hold_settles_though_a_correction_took_the_balance_below_it(rich):
    place(rich)
    corrections.adjust(organization_id=rich.id, cents=-900, reason="charged back", source="c", actor=ACTOR)
    assert settle(cents=400).captured_nano == 4 * 10**9
    assert balances.get(rich.id).available_nano == -3 * 10**9


def test_settling_an_unknown_source_is_not_found(db):
    with pytest.raises(NotFound):
        settle(source="job:none")


@pytest.mark.django_db(transaction=True)
def test_the_verbs_work_without_the_framework():
    organization = Organization.objects.create(name="Acme")
    grants.give(organization_id=organization.id, cents=500, reason="r", source="g", actor=ACTOR)
    where = {"dbname", "user", "password", "host", "port"}
    with psycopg.connect(
        **{key: value for key, value in connection.get_connection_params().items() if key in where}
    ) as raw:
        place = "SELECT outcome, balance_nano FROM billing_place_hold_v1(%s, %s, %s, %s)"
        settle = "SELECT * FROM billing_settle_hold_v1(%s, %s, %s)"
        assert raw.execute(place, [organization.id, "r:1", 6 * 10**9, "key:k"]).fetchone() == (
            "insufficient",
            5 * 10**9,
        )
        assert raw.execute(place, [organization.id, "r:1", 10**9, "key:k"]).fetchone() == ("placed", 5 * 10**9)
        assert raw.execute(settle, ["r:1", 4, "key:k"]).fetchone() == ("settled", 4, 10**9 - 4)
    assert balances.get(organization.id).balance_nano == 5 * 10**9 - 4


def together(count, act):
    """Run `act(i)` in `count` threads, each with its own connection, started at one moment."""
    barrier = Barrier(count)

    def run(i):
        try:
            barrier.wait(timeout=30)
            return act(i)
        except PaymentRequired as refusal:
            return refusal
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


@pytest.mark.django_db(transaction=True)
def test_twenty_holds_on_a_balance_that_covers_one_place_exactly_one():
    organization = Organization.objects.create(name="Acme")
    grants.give(organization_id=organization.id, cents=500, reason="r", source="g", actor=ACTOR)
    outcomes = together(20, lambda i: place(organization, source=f"job:{i}", cents=500))
    assert outcomes.count(True) == 1
    assert sum(isinstance(outcome, PaymentRequired) for outcome in outcomes) == 19
    assert balances.get(organization.id).available_nano == 0


@pytest.mark.django_db(transaction=True)
def test_twenty_holds_of_one_source_place_exactly_one():
    organization = Organization.objects.create(name="Acme")
    grants.give(organization_id=organization.id, cents=500, reason="r", source="g", actor=ACTOR)
    outcomes = together(20, lambda i: place(organization, cents=500))
    assert sorted(outcomes) == [False] * 19 + [True]


@pytest.mark.django_db(transaction=True)
def test_twenty_settlements_of_one_hold_agree_and_charge_once():
    organization = Organization.objects.create(name="Acme")
    grants.give(organization_id=organization.id, cents=500, reason="r", source="g", actor=ACTOR)
    place(organization)
    outcomes = together(20, lambda i: settle(cents=100 + i))
    assert len(set(outcomes)) == 1
    assert balances.get(organization.id).balance_nano == cents_to_nano(500) - outcomes[0].captured_nano


@pytest.mark.django_db(transaction=True)
def test_first_grants_at_once_create_one_account():
    organization = Organization.objects.create(name="Acme")
    together(
        20, lambda i: grants.give(organization_id=organization.id, cents=5, reason="r", source=f"g:{i}", actor=ACTOR)
    )
    assert balances.get(organization.id).balance_nano == cents_to_nano(100)
    assert Account.objects.count() == 2


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_two_hundred_threads_never_overdraw_one_balance():
    organization = Organization.objects.create(name="Acme")
    grants.give(organization_id=organization.id, cents=300, reason="r", source="g", actor=ACTOR)
    outcome = spend(organization.id, threads=200, holds_each=2)
    assert (len(outcome.seconds), outcome.refused) == (300, 100)
    assert outcome.lowest_nano >= 0
    assert balances.get(organization.id) == balances.Balance(0, 0, 0)
