import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import ApiKey
from accounts.services import keys, organizations
from anex.console.views import keys as views
from anex.core.actors import Actor
from anex.core.errors import Unauthenticated
from tests.factories import actor_of, add_member, make_key, make_organization, make_user

SECRET = re.compile(r"sk-[A-Za-z0-9]{52}")

SCOPES = ["batch:read", "batch:write"]


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
    answer = ada.post("/keys/new", {"name": "nightly import", "scopes": SCOPES})
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
    answer = ada.post("/keys/new", {"name": name, "scopes": SCOPES})
    assert answer.status_code == 400
    assert said in answer.content.decode()
    assert not ApiKey.objects.exists()


def test_revoking_asks_first_then_refuses_the_key(ada, acme):
    key = make_key(acme)
    path = f"/keys/{key.caller.key_id}/revoke"
    assert "cannot be undone" in ada.get(path).content.decode()
    assert keys.authenticate(key.header)
    for typed in ("", "another"):
        assert ada.post(path, {"typed": typed}).status_code == 400
    assert keys.authenticate(key.header)
    page = ada.post(path, {"typed": " test key "}, follow=True).content.decode()
    assert "is revoked" in page
    assert key.caller.key_id not in page
    assert key.caller.key_id in ada.get("/keys?show=revoked").content.decode()
    with pytest.raises(Unauthenticated):
        keys.authenticate(key.header)


def test_list_is_read_page_by_page_and_asks_no_more_for_many_keys(ada, acme, monkeypatch):
    monkeypatch.setattr(views, "PAGE", 2)
    made = [make_key(acme, name=f"key {place}").caller.key_id for place in range(5)]

    def shown(query):
        with CaptureQueriesContext(connection) as captured:
            page = ada.get(f"/keys{query}").context
        return [line["key"].pk for line in page["keys"]], page["older"], len(captured)

    first, older, queries = shown("")
    second, older, more = shown(f"?after={older}")
    last, end, _ = shown(f"?after={older}")
    assert first + second + last == made[::-1]
    assert end == ""
    assert queries <= more <= queries + 1 <= 13
    assert shown("?after=nobody")[0] == first


def test_revoking_twice_says_so(ada, acme):
    key = make_key(acme)
    path = f"/keys/{key.caller.key_id}/revoke"
    ada.post(path, {"typed": "test key"})
    assert "revoked already" in ada.post(path, {"typed": "test key"}, follow=True).content.decode()


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
    assert "Create key" not in page
    assert "Ask ada@example.com for one" in page
    assert "/revoke" not in page
    assert joan.post("/keys/new", {"name": "mine", "scopes": SCOPES}).status_code == 403
    assert joan.post(f"/keys/{key.caller.key_id}/revoke").status_code == 403
    assert keys.authenticate(key.header)


def test_suspended_organization_revokes_keys_but_creates_none(ada, acme):
    key = make_key(acme)
    organizations.suspend(organization_id=acme.pk, actor=Actor("staff", "1"), reason="unpaid")
    assert "suspended" in ada.get("/keys").content.decode()
    assert ada.post("/keys/new", {"name": "another", "scopes": SCOPES}).status_code == 403
    assert ada.post(f"/keys/{key.caller.key_id}/revoke", {"typed": "test key"}).status_code == 302


def test_form_without_a_csrf_token_is_refused(acme):
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user("ada"))
    answer = client.post("/keys/new", {"name": "forged", "scopes": SCOPES})
    assert answer.status_code == 403
    assert "form has expired" in answer.content.decode()
    assert not ApiKey.objects.exists()


def test_name_is_escaped_in_every_page_that_shows_it(ada, acme):
    made = keys.create(organization_id=acme.pk, name="<script>x</script>", actor=actor_of(make_user()))
    for page in (
        ada.get("/keys"),
        ada.get(f"/keys/{made.id}/revoke"),
        ada.post("/keys/new", {"name": "<script>x", "scopes": SCOPES}),
    ):
        assert "<script>x" not in page.content.decode()


def test_person_without_an_organization_names_one(db):
    client = signed_in(make_user("loner"))
    assert client.get("/keys")["Location"] == "/organizations/new"
    assert client.post("/organizations/new", {"name": "  "}).status_code == 200
    assert client.post("/organizations/new", {"name": "Initech"})["Location"] == "/dashboard"
    assert "Initech" in client.get("/keys").content.decode()
    client.post("/organizations/new", {"name": "Second"})
    assert "Second" in client.get("/keys").content.decode()


def test_limits_of_the_form_reach_the_key_and_the_list(ada, acme):
    fields = {
        "name": "limited",
        "scopes": ["batch:read"],
        "models": ["smollm2-135m-instruct"],
        "expires_on": "2099-12-31",
        "daily_ceiling": "1.50",
        "monthly_ceiling": "20",
    }
    assert ada.post("/keys/new", fields).status_code == 201
    key = ApiKey.objects.get()
    assert (key.scopes, key.allowed_models) == (["batch:read"], ["smollm2-135m-instruct"])
    assert (key.daily_ceiling_cents, key.weekly_ceiling_cents, key.monthly_ceiling_cents) == (150, None, 2000)
    assert key.expires_at.isoformat() == "2100-01-01T00:00:00+00:00"
    page = ada.get("/keys").content.decode()
    for shown in ("batch:read", "only smollm2-135m-instruct", "$0.00 of $1.50 a day", "1 Jan 2100"):
        assert shown in page


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("scopes", []),
        ("scopes", ["root"]),
        ("models", ["unheard-of"]),
        ("expires_on", "2020-01-01"),
        ("expires_on", "soon"),
        *[
            ("daily_ceiling", value)
            for value in ("-1", "0", "NaN", "1e308", "18446744073709551615", "0.001", "Infinity")
        ],
    ],
)
def test_absurd_limit_comes_back_beside_its_field(ada, field, value):
    answer = ada.post("/keys/new", {"name": "odd", "scopes": SCOPES} | {field: value})
    assert answer.status_code == 400
    assert answer.context["form"].errors.keys() == {field}
    assert not ApiKey.objects.exists()


def test_edit_starts_with_what_is_set_and_changes_it(ada, acme):
    key = make_key(acme, name="ci", scopes=frozenset({"batch:read"}), weekly_ceiling_cents=700)
    path = f"/keys/{key.caller.key_id}/edit"
    form = ada.get(path).context["form"]
    assert (form["name"].value(), form["scopes"].value(), form["weekly_ceiling"].value()) == ("ci", ["batch:read"], 7)
    answer = ada.post(path, {"name": "ci two", "scopes": SCOPES, "weekly_ceiling": "8"}, follow=True)
    assert "“ci two” is changed" in answer.content.decode()
    changed = ApiKey.objects.get()
    assert (changed.name, changed.scopes, changed.weekly_ceiling_cents) == ("ci two", SCOPES, 800)


def test_rotation_shows_the_new_secret_once_and_the_former_works_on(ada, acme):
    key = make_key(acme)
    path = f"/keys/{key.caller.key_id}"
    assert "shown once" in ada.get(f"{path}/rotate").content.decode()
    answer = ada.post(f"{path}/rotate", {"overlap": "24"})
    (secret,) = set(SECRET.findall(answer.content.decode()))
    assert keys.authenticate(f"Bearer {secret}") == keys.authenticate(key.header)
    page = ada.get("/keys").content.decode()
    assert "former secret until" in page
    assert secret not in page
    ada.post(f"{path}/end-overlap")
    with pytest.raises(Unauthenticated):
        keys.authenticate(key.header)
    assert keys.authenticate(f"Bearer {secret}") == key.caller


@pytest.mark.parametrize("verb", ["edit", "rotate", "end-overlap", "revoke"])
def test_foreign_key_answers_like_an_unknown_one(ada, acme, verb):
    foreign = make_key(make_organization("Globex"))
    answers = [ada.post(f"/keys/{key_id}/{verb}") for key_id in (foreign.caller.key_id, "a" * 12)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content
