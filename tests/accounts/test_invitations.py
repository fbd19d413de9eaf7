"""Invitations: the link of the e-mail is the only copy of its token, and only its address can use it."""

import re
from datetime import timedelta

import pytest
from django.core import mail
from django.test import Client

from accounts.models import AuditEvent, Invitation, Membership, User
from accounts.services import freezes, invitations, memberships
from anex.core import clock
from anex.core.actors import system
from anex.core.errors import Conflict, Forbidden, TooManyRequests
from tests.factories import PASSWORD, actor_of, add_member, make_organization, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme():
    return make_organization("Acme")


@pytest.fixture
def invite(acme, django_capture_on_commit_callbacks):
    """Invite Joan (or another) and return the path of the link in the e-mail."""

    def send(email="joan@example.com", role="member", verb=None):
        with django_capture_on_commit_callbacks(execute=True):
            if verb:
                verb()
            else:
                invitations.create(organization_id=acme.pk, email=email, role=role, actor=actor_of(make_user("ada")))
        return link()

    return send


def link():
    return re.search(r"https?://[^/]+(/invitations/\S+)", mail.outbox[-1].body).group(1)


def browser(user):
    client = Client()
    client.force_login(user)
    return client


def later(monkeypatch, **gap):
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(**gap))


def role_of(email):
    return (
        Membership.objects.filter(organization__name="Acme", user__email=email).values_list("role", flat=True).first()
    )


def test_invited_person_accepts_and_acts_for_the_organization(acme, invite):
    path = invite(role="admin")
    assert mail.outbox[-1].to == ["joan@example.com"]
    assert "ada@example.com invites you to join Acme on Anex, in the role of admin" in mail.outbox[-1].body
    joan = browser(make_user("joan"))
    assert "Join Acme" in joan.get(path).content.decode()
    assert joan.post(path)["Location"] == "/dashboard"
    assert role_of("joan@example.com") == "admin"
    assert "<h1>Acme</h1>" in joan.get("/dashboard").content.decode()
    assert list(AuditEvent.objects.filter(organization=acme).values_list("action", flat=True).order_by("pk")) == [
        "organization.create",
        "invitation.create",
        "member.join",
    ]


def test_nobody_joins_while_the_console_is_frozen(acme, invite):
    path, joan = invite(), browser(make_user("joan"))
    freezes.switch(surface="console", frozen=True, actor=system("tests"), reason="a migration")
    assert "frozen for maintenance: a migration. Its pages" in joan.post(path, follow=True).content.decode()
    assert role_of("joan@example.com") is None
    freezes.switch(surface="console", frozen=False, actor=system("tests"), reason="done")
    assert joan.post(path)["Location"] == "/dashboard"


def test_new_person_signs_up_from_the_link_without_a_second_organization(acme, invite):
    path = invite("hedy@example.com")
    client = Client()
    assert "Create an account" in client.get(path).content.decode()
    fields = {"email": "hedy@example.com", "password1": PASSWORD, "password2": PASSWORD, "next": path}
    assert client.post("/accounts/signup/", fields)["Location"] == path
    assert client.get(path)["Location"] == "/dashboard"
    hedy = User.objects.get(email="hedy@example.com")
    assert list(hedy.memberships.values_list("organization__name", "role")) == [("Acme", "member")]
    assert hedy.emailaddress_set.get().verified


def test_who_signs_up_with_another_address_gets_an_organization_of_their_own(acme, invite):
    path, client = invite("hedy@example.com"), Client()
    client.get(path)
    fields = {"email": "other@example.com", "password1": PASSWORD, "password2": PASSWORD}
    client.post("/accounts/signup/", fields)
    other = User.objects.get(email="other@example.com")
    assert list(other.memberships.values_list("organization__name", flat=True)) == ["other"]
    assert not other.emailaddress_set.filter(verified=True).exists()
    assert Invitation.objects.get().accepted_at is None


def test_forwarded_link_lets_nobody_else_in(acme, invite):
    path, mallory = invite(), browser(make_user("mallory"))
    page = mallory.get(path).content.decode()
    assert "signed in as mallory@example.com" in page
    assert "Accept" not in page
    assert mallory.post(path).status_code == 403
    assert role_of("mallory@example.com") is None


def test_link_works_once(acme, invite):
    path, joan = invite(), make_user("joan")
    browser(joan).post(path)
    memberships.remove(organization_id=acme.pk, user_id=joan.pk, actor=actor_of(make_user("ada")))
    browser(joan).post(path)
    assert role_of("joan@example.com") is None
    assert "accepted already" in browser(joan).get(path).content.decode()


def test_expired_link_says_so_and_lets_nobody_in(acme, invite, monkeypatch):
    path, joan = invite(), browser(make_user("joan"))
    later(monkeypatch, days=7, seconds=1)
    assert "has expired" in joan.get(path).content.decode()
    joan.post(path)
    assert role_of("joan@example.com") is None
    assert "Expired" in browser(make_user("ada")).get("/members").content.decode()


def test_revoked_link_lets_nobody_in(acme, invite):
    path, ada = invite(), browser(make_user("ada"))
    ada.post(f"/invitations/{Invitation.objects.get().pk}/revoke")
    joan = browser(make_user("joan"))
    assert "was taken back" in joan.get(path).content.decode()
    joan.post(path)
    assert role_of("joan@example.com") is None


def test_sending_again_replaces_the_link_and_renews_its_expiry(acme, invite, monkeypatch):
    first, offer = invite(), Invitation.objects.get()
    later(monkeypatch, days=6)
    ada = browser(make_user("ada"))
    second = invite(verb=lambda: ada.post(f"/invitations/{offer.pk}/resend"))
    later(monkeypatch, days=6)
    joan = browser(make_user("joan"))
    assert joan.get(first).status_code == 404
    assert joan.post(second)["Location"] == "/dashboard"
    assert role_of("joan@example.com") == "member"


def test_an_address_gets_at_most_one_mail_a_minute(acme, invite, monkeypatch):
    invite()
    ada, offer = actor_of(make_user("ada")), Invitation.objects.get()
    with pytest.raises(TooManyRequests):
        invitations.resend(organization_id=acme.pk, invitation_id=offer.pk, actor=ada)
    with pytest.raises(TooManyRequests):
        invitations.create(organization_id=acme.pk, email="Joan@example.com", role="member", actor=ada)
    later(monkeypatch, minutes=1)
    invitations.create(organization_id=acme.pk, email="joan@example.com", role="admin", actor=ada)
    assert list(Invitation.objects.filter(revoked_at=None).values_list("role", flat=True)) == ["admin"]


@pytest.mark.parametrize("email", ["", "nobody", "a@b", "a@example.com\nBcc: x@example.com"])
def test_broken_address_comes_back_in_the_form(acme, email):
    answer = browser(make_user("ada")).post("/invitations/new", {"email": email, "role": "member"})
    assert answer.status_code == 400
    assert not Invitation.objects.exists()


def test_member_cannot_be_invited_again(acme):
    add_member(acme, "joan")
    with pytest.raises(Conflict, match="already"):
        invitations.create(
            organization_id=acme.pk, email="joan@example.com", role="admin", actor=actor_of(make_user("ada"))
        )


def test_admin_cannot_touch_an_invitation_of_an_owner(acme, invite):
    invite(role="owner")
    asked = {
        "organization_id": acme.pk,
        "invitation_id": Invitation.objects.get().pk,
        "actor": actor_of(add_member(acme, "mary", "admin")),
    }
    for verb in (invitations.revoke, invitations.resend):
        with pytest.raises(Forbidden):
            verb(**asked)


def test_token_is_kept_only_as_a_hash(acme, invite):
    token = invite().rpartition("/")[2]
    row = Invitation.objects.get()
    assert len(bytes(row.token_sha256)) == 32
    assert all(token.partition(":")[0] not in str(value) for value in vars(row).values())


@pytest.mark.parametrize("token", ["nonsense", "a:b", "%00", "é" * 40])
def test_made_up_link_is_not_found(acme, token):
    assert Client().get(f"/invitations/{token}").status_code == 404


def test_invitation_of_another_organization_is_the_same_as_none(acme, invite):
    invite()
    make_organization("Globex")
    grace, offer = browser(make_user("grace")), Invitation.objects.get()
    for verb in ("resend", "revoke"):
        foreign = grace.post(f"/invitations/{offer.pk}/{verb}")
        unknown = grace.post(f"/invitations/00000000-0000-0000-0000-000000000000/{verb}")
        assert (foreign.status_code, foreign.content) == (404, unknown.content)
    assert Invitation.objects.get().revoked_at is None
