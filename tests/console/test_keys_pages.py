import re

import pytest
from django.test import Client

from accounts.models import ApiKey
from accounts.services import keys, organizations
from anex.core.actors import Actor
from anex.core.errors import Unauthenticated
from tests.factories import actor_of, add_member, make_key, make_organization, make_user

SECRET = re.compile(r"sk-[A-Za-z0-9]{52}")


def signed_in(user):
    client = Client()
    client.force_login(user)
    return client


def test_stranger_is_sent_to_sign_in(client, db):
    answer = client.get("/keys")
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/?next=/keys")


def test_fragment_that_outlived_its_session_reloads_the_page(client, db):
    answer = client.get("/dashboard/live", headers={"HX-Request": "true"})
    assert (answer.status_code, answer["HX-Refresh"]) == (200, "true")


def test_address_of_the_new_key_leads_back_to_the_list(ada):
    assert ada.get("/keys/new")["Location"] == "/keys"


def test_new_key_is_shown_once_with_a_curl_line_and_works(ada, acme):
    answer = ada.post("/keys/new", {"name": "nightly import"})
    shown = set(SECRET.findall(answer.content.decode()))
    assert (answer.status_code, len(shown)) == (201, 1)
    assert "no-store" in answer["Cache-Control"]
    secret = shown.pop()
    assert f"Authorization: Bearer {secret}" in answer.content.decode()
    assert keys.authenticate(f"Bearer {secret}").organization_id == acme.pk
    assert secret not in ada.get("/keys").content.decode()


def test_list_names_id_last_four_creator_and_use(ada, acme):
    key = make_key(acme, name="nightly import")
    keys.authenticate(key.header)
    page = ada.get("/keys").content.decode()
    for shown in ("nightly import", key.caller.key_id, f"sk-…{key.secret[-4:]}", "ada@example.com", "Active"):
        assert shown in page
    assert "Never" not in page


def test_list_without_keys_invites_to_create_the_first(ada):
    assert "Create your first key" in ada.get("/keys").content.decode()


@pytest.mark.parametrize(("name", "said"), [("", "This field is required"), ("a\x1bb", "control characters")])
def test_unusable_name_comes_back_with_the_reason(ada, name, said):
    answer = ada.post("/keys/new", {"name": name})
    assert answer.status_code == 400
    assert said in answer.content.decode()
    assert not ApiKey.objects.exists()


def test_revoking_asks_first_then_refuses_the_key(ada, acme):
    key = make_key(acme)
    path = f"/keys/{key.caller.key_id}/revoke"
    assert "cannot be undone" in ada.get(path).content.decode()
    assert keys.authenticate(key.header)
    page = ada.post(path, follow=True).content.decode()
    assert "is revoked" in page
    assert "Revoked" in page
    with pytest.raises(Unauthenticated):
        keys.authenticate(key.header)


def test_revoking_twice_says_so(ada, acme):
    key = make_key(acme)
    path = f"/keys/{key.caller.key_id}/revoke"
    ada.post(path)
    assert "revoked already" in ada.post(path, follow=True).content.decode()


def test_key_of_another_organization_is_not_found(ada):
    foreign = make_key(make_organization("Globex"), name="foreign")
    path = f"/keys/{foreign.caller.key_id}/revoke"
    assert ada.get(path).status_code == 404
    assert ada.post(path).status_code == 404
    assert "foreign" not in ada.get("/keys").content.decode()
    assert keys.authenticate(foreign.header)


def test_member_reads_keys_but_neither_creates_nor_revokes(acme):
    key = make_key(acme)
    joan = signed_in(add_member(acme, "joan"))
    page = joan.get("/keys").content.decode()
    assert key.caller.key_id in page
    assert "Create" not in re.sub(r"Created", "", page)
    assert "/revoke" not in page
    assert joan.post("/keys/new", {"name": "mine"}).status_code == 403
    assert joan.post(f"/keys/{key.caller.key_id}/revoke").status_code == 403
    assert keys.authenticate(key.header)


def test_suspended_organization_revokes_keys_but_creates_none(ada, acme):
    key = make_key(acme)
    organizations.suspend(organization_id=acme.pk, actor=Actor("staff", "1"), reason="unpaid")
    assert "suspended" in ada.get("/keys").content.decode()
    assert ada.post("/keys/new", {"name": "another"}).status_code == 403
    assert ada.post(f"/keys/{key.caller.key_id}/revoke").status_code == 302


def test_form_without_a_csrf_token_is_refused(acme):
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user("ada"))
    answer = client.post("/keys/new", {"name": "forged"})
    assert answer.status_code == 403
    assert "form has expired" in answer.content.decode()
    assert not ApiKey.objects.exists()


def test_name_is_escaped_in_every_page_that_shows_it(ada, acme):
    made = keys.create(organization_id=acme.pk, name="<script>x</script>", actor=actor_of(make_user()))
    for page in (ada.get("/keys"), ada.get(f"/keys/{made.id}/revoke"), ada.post("/keys/new", {"name": "<script>x"})):
        assert "<script>x" not in page.content.decode()


def test_person_without_an_organization_names_one(db):
    client = signed_in(make_user("loner"))
    assert client.get("/keys")["Location"] == "/organizations/new"
    assert client.post("/organizations/new", {"name": "  "}).status_code == 200
    assert client.post("/organizations/new", {"name": "Initech"})["Location"] == "/dashboard"
    assert "Initech" in client.get("/keys").content.decode()
    client.post("/organizations/new", {"name": "Second"})
    assert "Second" in client.get("/keys").content.decode()
