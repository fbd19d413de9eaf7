"""The pages of the playground, and how a session becomes a caller."""

import re

import pytest
from django.test import Client

from accounts.models import Organization
from accounts.services import keys
from anex.core.actors import system
from billing.models import UsageRecord
from billing.services import holds
from inference.backends import registry
from tests.factories import add_member, grant_credits, make_organization

PAGES = {
    "/playground": "scripted",
    "/playground/embeddings": "scripted-embed",
    "/playground/decisions": "scripted-decide",
}


@pytest.fixture
def served(db):
    for model in (*PAGES.values(), "smollm2-135m-instruct"):
        registry.configure(model_id=model, base_url="http://127.0.0.1:9/v1", served_name=model, actor=system("tests"))


def ask_key(browser, organization):
    return browser.post("/playground/key", {"organization": str(organization.pk)})


@pytest.mark.parametrize("path", PAGES)
def test_each_kind_offers_its_models_and_shows_its_request(ada, acme, served, path, django_assert_max_num_queries):
    grant_credits(acme)
    with django_assert_max_num_queries(12):
        html = ada.get(path, {"model": PAGES[path]}).content.decode()
    others = set(PAGES.values()) - {PAGES[path]}
    assert f'value="{PAGES[path]}" selected' in html
    assert not any(f'value="{other}"' in html for other in others)
    assert f"&quot;model&quot;: &quot;{PAGES[path]}&quot;" in html
    assert "sk-" not in html


def test_only_the_parameters_of_the_chosen_model_have_a_field(ada, acme, served):
    shown = {
        model: set(re.findall(r'name="(\w+)" data-number', ada.get("/playground", {"model": model}).content.decode()))
        for model in ("scripted", "smollm2-135m-instruct")
    }
    assert shown["scripted"] - shown["smollm2-135m-instruct"] == {"repetition_penalty"}
    assert {"max_tokens", "temperature", "seed"} <= shown["smollm2-135m-instruct"]
    assert 'name="thinking"' in ada.get("/playground", {"model": "scripted"}).content.decode()
    assert 'name="thinking"' not in ada.get("/playground", {"model": "smollm2-135m-instruct"}).content.decode()


def test_without_a_server_the_page_says_so(ada):
    assert "No model of this kind answers" in ada.get("/playground").content.decode()


def test_a_key_is_told_once_to_whoever_may_ask_models(ada, acme):
    answer = ask_key(ada, acme)
    assert answer.status_code == 201
    assert "no-store" in answer["Cache-Control"]
    assert keys.authenticate(f"Bearer {answer.json()['key']}").organization_id == acme.pk
    member = Client()
    member.force_login(add_member(acme, "mary"))
    assert ask_key(member, acme).status_code == 201
    assert ada.get("/playground/key").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(add_member(acme, "bob"))
    assert ask_key(strict, acme).status_code == 403


def test_a_page_of_another_organization_than_the_browser_acts_for_gets_none(ada, acme):
    answer = ask_key(ada, make_organization("Initech"))
    assert (answer.status_code, "Reload" in answer.json()["detail"]) == (409, True)


def test_a_suspended_organization_has_no_playground(ada, acme):
    Organization.objects.update(suspended_at="2026-01-01T00:00:00Z")
    assert {ada.get("/playground").status_code, ask_key(ada, acme).status_code} == {403}


def test_the_bill_of_a_request_is_its_usage_record_and_nobody_elses(ada, acme):
    def record(organization, name):
        UsageRecord.objects.create(
            source=f"req:{name}",
            organization=organization,
            at="2026-01-01T00:00:00Z",
            surface="chat",
            model_id="scripted",
            requests=1,
            input_tokens=12,
            cached_tokens=0,
            output_tokens=5,
            amount_nano=400_000,
            status="left",
        )

    grant_credits(acme)
    record(acme, "aa")
    record(make_organization("Globex"), "bb")
    told = ada.get("/playground/requests/aa").json()
    assert (told["cost"], told["output_tokens"], told["status"]) == ("$0.0004", 5, "left")
    assert {ada.get(f"/playground/requests/{name}").status_code for name in ("bb", "cc")} == {404}
    holds.place(organization_id=acme.pk, source="req:dd", amount_nano=1, actor=system("tests"))
    assert ada.get("/playground/requests/dd").json() == {"settled": False}
