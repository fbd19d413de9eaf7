"""Reads: the balance, the statement with its running balance, the coarse check of uploads and submits."""

from uuid import uuid4

import pytest

from accounts.models import Organization
from anex.core.actors import system
from anex.core.errors import PaymentRequired
from anex.core.money import cents_to_nano
from billing.models import Account
from billing.selectors import balances
from billing.services import corrections, grants, holds

ACTOR = system("tests")


def test_balance_before_the_first_transfer_is_zero(organization):
    assert balances.get(organization.id) == balances.Balance(0, 0, 0)


def test_statement_runs_from_the_newest_line_back_to_zero(organization):
    grants.give(organization_id=organization.id, cents=1_000, reason="welcome", source="g", actor=ACTOR)
    holds.place(organization_id=organization.id, source="job:1", amount_nano=cents_to_nano(400), actor=ACTOR)
    holds.settle(source="job:1", charge_nano=cents_to_nano(150), actor=ACTOR)
    corrections.adjust(organization_id=organization.id, cents=-900, reason="wrong", source="c", actor=ACTOR)
    lines = balances.statement(organization.id, limit=10)
    assert [(line.kind, line.amount_nano // 10**7, line.balance_nano // 10**7) for line in lines] == [
        ("correction", -900, -50),
        ("charge", -150, 850),
        ("grant", 1_000, 1_000),
    ]
    assert [line.source for line in lines] == ["c", "job:1:capture", "g"]
    assert lines == sorted(lines, key=lambda line: line.at, reverse=True)


def test_statement_keeps_the_newest_lines_and_their_balances(rich):
    for i in range(5):
        grants.give(organization_id=rich.id, cents=1, reason="r", source=f"g:{i}", actor=ACTOR)
    lines = balances.statement(rich.id, limit=2)
    assert [(line.source, line.balance_nano // 10**7) for line in lines] == [("g:4", 1_005), ("g:3", 1_004)]


def test_statement_and_balance_see_no_other_organization(rich):
    other = Organization.objects.create(name="Other")
    assert balances.statement(other.id, limit=10) == []
    assert balances.get(other.id) == balances.get(uuid4()) == balances.Balance(0, 0, 0)


def test_statement_is_one_query(rich, django_assert_num_queries):
    with django_assert_num_queries(1):
        balances.statement(rich.id, limit=10)


@pytest.mark.parametrize("correction", [-1_000, -1_001])
def test_a_balance_of_zero_or_below_is_not_positive(rich, correction):
    balances.require_positive(rich.id)
    corrections.adjust(organization_id=rich.id, cents=correction, reason="r", source="c", actor=ACTOR)
    with pytest.raises(PaymentRequired, match="Add credits and try again"):
        balances.require_positive(rich.id)


def test_a_held_balance_is_still_positive(rich):
    holds.place(organization_id=rich.id, source="job:1", amount_nano=cents_to_nano(1_000), actor=ACTOR)
    balances.require_positive(rich.id)


def test_a_credit_limit_stands_in_for_a_balance_until_it_is_reached(rich):
    Account.objects.filter(organization=rich).update(credit_limit_nano=cents_to_nano(100))
    corrections.adjust(organization_id=rich.id, cents=-1_099, reason="r", source="c:1", actor=ACTOR)
    balances.require_positive(rich.id)
    corrections.adjust(organization_id=rich.id, cents=-1, reason="r", source="c:2", actor=ACTOR)
    with pytest.raises(PaymentRequired, match=r"^credit limit reached - contact support@anex\.sh$"):
        balances.require_positive(rich.id)
