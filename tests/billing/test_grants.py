"""Grants and corrections: one line each, once per source, within what can be kept exactly."""

from uuid import uuid4

import pytest

from accounts.models import Organization
from anex.core.actors import Actor, system
from anex.core.errors import Conflict, InvalidRequest, NotFound
from anex.core.money import cents_to_nano
from billing.models import Account, Transfer
from billing.selectors import balances
from billing.services import corrections, grants

STAFF = Actor("staff", "7")


def give(organization, cents=500, source="grant:1"):
    return grants.give(organization_id=organization.id, cents=cents, reason="welcome", source=source, actor=STAFF)


def adjust(organization, cents, source="correction:1"):
    return corrections.adjust(
        organization_id=organization.id, cents=cents, reason="a mistake", source=source, actor=STAFF
    )


def test_grant_moves_credits_from_the_platform_and_says_who_and_why(organization):
    assert give(organization)
    assert balances.get(organization.id).balance_nano == cents_to_nano(500)
    line = Transfer.objects.get()
    assert (line.debit.code, line.credit.organization, line.kind) == ("grants", organization, "grant")
    assert (line.actor, line.reason) == ("staff:7", "welcome")


def test_same_source_grants_once(organization):
    assert give(organization)
    assert not give(organization)
    assert not give(organization, cents=900)
    assert balances.get(organization.id).balance_nano == cents_to_nano(500)


def test_source_of_another_organization_is_a_conflict(organization):
    give(organization)
    with pytest.raises(Conflict):
        give(Organization.objects.create(name="Other"))


@pytest.mark.parametrize("cents", [0, -1, 2**63 - 1, 2**64 - 1, 10**400, float("nan"), 1e308, float("-inf")])
def test_absurd_grant_is_refused(organization, cents):
    with pytest.raises(InvalidRequest, match="at most"):
        give(organization, cents=cents)
    assert not Transfer.objects.exists()


def test_grants_stop_before_the_balance_cannot_be_kept(organization):
    for i in range(4):
        give(organization, cents=10**11, source=f"grant:{i}")
    with pytest.raises(InvalidRequest, match="kept exactly"):
        give(organization, cents=1, source="grant:last")
    assert balances.get(organization.id).balance_nano == 4 * 10**18


def test_grant_to_an_unknown_organization_is_not_found(db):
    with pytest.raises(NotFound):
        grants.give(organization_id=uuid4(), cents=1, reason="r", source="g", actor=system("tests"))
    assert not Account.objects.filter(organization__isnull=False).exists()


def test_correction_takes_credits_back_below_zero(organization):
    give(organization, cents=100)
    assert adjust(organization, -250)
    assert balances.get(organization.id).balance_nano == cents_to_nano(-150)
    line = Transfer.objects.get(kind="correction")
    assert (line.debit.organization, line.credit.code, line.amount_nano) == (
        organization,
        "corrections",
        cents_to_nano(250),
    )


def test_same_source_corrects_once(organization):
    assert adjust(organization, 250)
    assert not adjust(organization, 250)
    assert balances.get(organization.id).balance_nano == cents_to_nano(250)


@pytest.mark.parametrize("cents", [0, 2**64, -(2**64), float("nan")])
def test_absurd_correction_is_refused(organization, cents):
    with pytest.raises(InvalidRequest):
        adjust(organization, cents)
