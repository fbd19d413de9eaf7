"""The staff area of money: read everything, change nothing but through the two actions."""

import re
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from accounts.models import User
from anex.core.actors import system
from anex.core.money import cents_to_nano
from billing.models import Account, Hold, Transfer
from billing.selectors import balances
from billing.services import holds
from tests.factories import pass_second_factor

GRANT = "admin:billing_account_grant_credits"
CORRECT = "admin:billing_account_correct_balance"


@pytest.fixture
def staff(client, db):
    """A signed-in member of staff with every permission."""
    user = User.objects.create_superuser("staff@example.com", "correct horse battery staple")
    client.force_login(user)
    pass_second_factor(client, user)
    return user


def order(organization, /, **changes):
    return {"organization": organization.pk, "dollars": "12.34", "reason": "welcome", "nonce": uuid4()} | changes


def test_grant_form_adds_credits_as_the_member_of_staff(client, staff, organization):
    answer = client.post(reverse(GRANT), order(organization), follow=True)
    assert answer.redirect_chain == [(reverse("admin:billing_transfer_changelist"), 302)]
    assert "done for Acme" in answer.content.decode()
    assert balances.get(organization.id).balance_nano == cents_to_nano(1_234)
    line = Transfer.objects.get()
    assert (line.kind, line.actor, line.reason) == ("grant", f"staff:{staff.pk}", "welcome")


def test_form_sent_twice_grants_once_and_says_so(client, staff, organization):
    data = order(organization)
    client.post(reverse(GRANT), data)
    answer = client.post(reverse(GRANT), data, follow=True)
    assert "nothing was changed a second time" in answer.content.decode()
    assert balances.get(organization.id).balance_nano == cents_to_nano(1_234)


def test_form_carries_a_fresh_nonce_and_the_organization_asked_for(client, staff, organization):
    pages = [client.get(reverse(GRANT), {"organization": organization.pk}).content.decode() for _ in range(2)]
    nonces = {re.search(r'name="nonce" value="([0-9a-f-]{36})"', page)[1] for page in pages}
    assert len(nonces) == 2
    assert f'<option value="{organization.pk}" selected>' in pages[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"reason": " "},
        {"reason": ""},
        {"dollars": "NaN"},
        {"dollars": "Infinity"},
        {"dollars": "1e308"},
        {"dollars": "0.001"},
        {"dollars": "0"},
        {"dollars": "-1"},
        {"dollars": "1000000000.01"},
        {"organization": str(uuid4())},
        {"nonce": "x"},
    ],
)
def test_grant_form_refuses_what_makes_no_sense(client, staff, organization, changes):
    answer = client.post(reverse(GRANT), order(organization, **changes))
    assert answer.status_code == 200
    assert answer.context["form"].errors
    assert not Transfer.objects.exists()


def test_a_refusal_of_the_service_is_shown_above_the_form(client, staff, organization):
    answer = client.post(reverse(GRANT), order(organization, dollars="-1"))
    assert "The amount must be more than zero" in answer.content.decode()


def test_correction_form_takes_credits_away(client, staff, rich):
    client.post(reverse(CORRECT), order(rich, dollars="-2.50", reason="counted twice"))
    assert balances.get(rich.id).balance_nano == cents_to_nano(750)
    assert Transfer.objects.get(kind="correction").reason == "counted twice"


@pytest.mark.parametrize("page", [GRANT, CORRECT])
def test_staff_who_may_only_look_cannot_change_a_balance(client, organization, page):
    user = User.objects.create_user("viewer@example.com", "correct horse battery staple", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="billing", codename__startswith="view"))
    client.force_login(user)
    pass_second_factor(client, user)
    assert client.get(reverse("admin:billing_account_changelist")).status_code == 200
    assert "Grant credits" not in client.get(reverse("admin:billing_account_changelist")).content.decode()
    assert client.post(reverse(page), order(organization)).status_code == 403
    assert not Transfer.objects.exists()


def test_people_who_are_not_staff_are_sent_to_sign_in(client, organization):
    client.force_login(User.objects.create_user("ada@example.com", "correct horse battery staple"))
    answer = client.post(reverse(GRANT), order(organization))
    assert answer.status_code == 302
    assert answer.url.startswith(reverse("admin:login"))


@pytest.mark.parametrize("model", [Account, Transfer, Hold])
def test_money_is_read_only(client, staff, rich, model):
    holds.place(organization_id=rich.id, source="job:1", amount_nano=cents_to_nano(1), actor=system("tests"))
    name = f"admin:billing_{model._meta.model_name}"
    row = model.objects.first()
    assert client.get(reverse(f"{name}_changelist")).status_code == 200
    assert client.get(reverse(f"{name}_changelist"), {"q": "Acme"}).status_code == 200
    assert client.get(reverse(f"{name}_change", args=[row.pk])).status_code == 200
    assert client.post(reverse(f"{name}_change", args=[row.pk]), {}).status_code == 403
    assert client.get(reverse(f"{name}_add")).status_code == 403
    assert client.post(reverse(f"{name}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
    assert model.objects.filter(pk=row.pk).exists()
