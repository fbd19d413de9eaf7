import pytest
from allauth.account.models import EmailAddress
from django.urls import reverse

from accounts.models import AuditEvent, Membership, User
from tests.factories import PASSWORD

pytestmark = pytest.mark.django_db


def sign_up(client, email="hedy@example.com", password=PASSWORD):
    return client.post(reverse("account_signup"), {"email": email, "password1": password, "password2": password})


def test_signing_up_makes_the_person_the_owner_of_a_personal_organization(client):
    answer = sign_up(client)
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/confirm-email/")
    membership = Membership.objects.select_related("organization", "user").get()
    assert (membership.user.email, membership.role) == ("hedy@example.com", Membership.Role.OWNER)
    assert membership.organization.name == "hedy"
    event = AuditEvent.objects.get(action="organization.create")
    assert (event.actor_kind, event.actor_id) == ("user", str(membership.user_id))


def test_a_long_address_still_signs_up(client):
    local = "a" * 64
    assert sign_up(client, f"{local}@example.com").status_code == 302
    assert Membership.objects.get().organization.name == local


def test_refused_sign_up_leaves_nothing_behind(client):
    assert sign_up(client, password="short").status_code == 200
    assert not User.objects.exists()
    assert not Membership.objects.exists()


def test_person_signs_in_with_the_address_in_any_case(client):
    sign_up(client)
    EmailAddress.objects.update(verified=True)
    answer = client.post(reverse("account_login"), {"login": "HEDY@example.com", "password": PASSWORD})
    assert (answer.status_code, answer["Location"]) == (302, "/dashboard")
