"""Charges given back, payments recorded by hand, credit limits: each with a reason and an audit event."""

from uuid import uuid4

import pytest
from django.urls import reverse

from accounts.models import AuditEvent, Organization, User
from anex.core.actors import Actor
from anex.core.errors import Conflict, InvalidRequest, NotFound, PaymentRequired
from anex.core.money import cents_to_nano
from billing.models import Account, Grant, Transfer
from billing.selectors import balances
from billing.services import credit_limits, holds, payments, refunds
from tests.factories import pass_second_factor

STAFF = Actor("staff", "7")


@pytest.fixture
def charge(rich):
    holds.place(organization_id=rich.pk, source="job:1", amount_nano=cents_to_nano(400), actor=STAFF)
    holds.settle(source="job:1", charge_nano=cents_to_nano(150), actor=STAFF)
    return Transfer.objects.get(kind="charge")


@pytest.fixture
def staff(client, db):
    user = User.objects.create_superuser("staff@example.com", "correct horse battery staple")
    client.force_login(user)
    pass_second_factor(client, user)
    return user


def give_back(charge, cents, source="refund:1", **changes):
    order = {"organization_id": charge.debit.organization_id, "charge_id": charge.pk, "reason": "wrong answers"}
    return refunds.give_back(**(order | changes), cents=cents, source=source, actor=STAFF)


def test_refund_is_a_line_of_its_own_that_names_the_charge(charge, rich):
    assert give_back(charge, 50)
    line = Transfer.objects.get(kind="refund")
    assert (line.about, line.credit.organization, line.debit.code) == (charge, rich, "revenue")
    assert balances.get(rich.pk).balance_nano == cents_to_nano(900)
    assert AuditEvent.objects.get(action="credits.refund").details == {"cents": 50}


def test_refunds_of_a_charge_never_pass_it(charge):
    give_back(charge, 100)
    with pytest.raises(Conflict, match=r"At most \$0\.50"):
        give_back(charge, 51, source="refund:2")
    assert give_back(charge, 50, source="refund:3")


def test_same_refund_counts_once(charge, rich):
    assert give_back(charge, 50)
    assert not give_back(charge, 50)
    assert balances.get(rich.pk).balance_nano == cents_to_nano(900)
    assert AuditEvent.objects.filter(action="credits.refund").count() == 1


def test_charge_of_another_organization_is_not_found(charge):
    with pytest.raises(NotFound):
        give_back(charge, 50, organization_id=Organization.objects.create(name="Other").pk)


def test_a_line_that_is_no_charge_cannot_be_given_back(rich):
    with pytest.raises(NotFound):
        give_back(Transfer.objects.get(kind="grant"), 50, organization_id=rich.pk)


@pytest.mark.parametrize("cents", [0, -1, 2**64, float("nan"), 1e308])
def test_absurd_refund_is_refused(charge, cents):
    with pytest.raises(InvalidRequest):
        give_back(charge, cents)
    assert not Transfer.objects.filter(kind="refund").exists()


def test_refund_needs_a_reason(charge):
    with pytest.raises(InvalidRequest, match="reason"):
        give_back(charge, 50, reason=" ")


def test_recorded_payment_is_a_payment_once(rich):
    order = {"organization_id": rich.pk, "cents": 5_000, "reason": "wire 42", "source": "payment:1", "actor": STAFF}
    assert payments.record(**order)
    assert not payments.record(**order)
    assert balances.get(rich.pk).balance_nano == cents_to_nano(6_000)
    with pytest.raises(InvalidRequest):
        payments.record(**(order | {"reason": ""}))


def test_credit_limit_lets_work_go_below_zero_and_no_further(rich):
    credit_limits.set_limit(organization_id=rich.pk, cents=500, reason="contract 7", actor=STAFF)
    holds.place(organization_id=rich.pk, source="job:1", amount_nano=cents_to_nano(1_500), actor=STAFF)
    with pytest.raises(PaymentRequired, match=r"^credit limit reached - contact support@anex\.sh$"):
        holds.place(organization_id=rich.pk, source="job:2", amount_nano=1, actor=STAFF)
    assert AuditEvent.objects.get(action="credits.limit").details == {"cents": 500}


def test_lowered_limit_takes_nothing_back_and_refuses_new_work(rich):
    credit_limits.set_limit(organization_id=rich.pk, cents=500, reason="contract 7", actor=STAFF)
    holds.place(organization_id=rich.pk, source="job:1", amount_nano=cents_to_nano(1_500), actor=STAFF)
    credit_limits.set_limit(organization_id=rich.pk, cents=0, reason="ended", actor=STAFF)
    assert balances.get(rich.pk).available_nano == cents_to_nano(-500)
    assert holds.settle(source="job:1", charge_nano=cents_to_nano(1_500), actor=STAFF).captured_nano == cents_to_nano(
        1_500
    )


@pytest.mark.parametrize("cents", [-1, 2**64, float("nan"), float("inf")])
def test_absurd_credit_limit_is_refused(rich, cents):
    with pytest.raises(InvalidRequest):
        credit_limits.set_limit(organization_id=rich.pk, cents=cents, reason="r", actor=STAFF)
    assert Account.objects.get(organization=rich).credit_limit_nano == 0


def test_credit_limit_of_an_unknown_organization_is_not_found(db):
    with pytest.raises(NotFound):
        credit_limits.set_limit(organization_id=uuid4(), cents=1, reason="r", actor=STAFF)


def test_staff_give_a_charge_back_on_its_page(client, staff, charge, rich):
    path = reverse("admin:billing_transfer_give_back", args=[charge.pk])
    assert "job:1:capture" in client.get(path).content.decode()
    form = {"dollars": "0.50", "reason": "wrong answers", "nonce": uuid4()}
    assert client.post(path, form).status_code == 302
    client.post(path, form)
    assert balances.get(rich.pk).balance_nano == cents_to_nano(900)
    refused = client.post(path, form | {"dollars": "5", "nonce": uuid4()})
    assert "can still be given back" in refused.content.decode()


def test_staff_are_told_that_only_charges_can_be_given_back(client, staff, rich):
    grant = Transfer.objects.get(kind="grant")
    answer = client.get(reverse("admin:billing_transfer_give_back", args=[grant.pk]), follow=True)
    assert "Only a charge can be given back." in answer.content.decode()


def test_staff_set_a_credit_limit_and_record_a_payment(client, staff, rich):
    order = {"organization": rich.pk, "dollars": "20.00", "reason": "contract 7", "nonce": uuid4()}
    client.post(reverse("admin:billing_account_set_credit_limit"), order)
    assert Account.objects.get(organization=rich).credit_limit_nano == cents_to_nano(2_000)
    client.post(reverse("admin:billing_account_set_credit_limit"), order | {"dollars": "0"})
    assert Account.objects.get(organization=rich).credit_limit_nano == 0
    client.post(reverse("admin:billing_account_record_payment"), order)
    assert Transfer.objects.get(kind="payment").reason == "contract 7"


def test_staff_give_a_grant_with_a_last_day(client, staff, rich):
    order = {"organization": rich.pk, "dollars": "1", "reason": "trial", "nonce": uuid4(), "last_day": "2099-12-31"}
    client.post(reverse("admin:billing_account_grant_credits"), order)
    assert Grant.objects.get().expires_at.isoformat() == "2100-01-01T00:00:00+00:00"
