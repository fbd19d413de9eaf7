"""Codes that say who may not ask, and for how much: on `/v1` as reference 000 has them, on `/openai/v1` as 004 does."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import httpx
import msgspec
import pytest

from accounts.models import Organization, Plan
from accounts.plans import PlanTerms
from accounts.services import organizations, plans
from anex.core.actors import system
from anex.core.error_catalogue import CATALOGUE
from billing import price_cards
from inference import catalogue
from realtime import offers
from tests.factories import grant_credits, make_key, make_organization
from tests.realtime.served import Surface, until

BY = {"actor": system("tests"), "reason": "a test"}
CHAT = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
EMBED = {"model": "scripted-embed", "input": "a"}
# More than a cent.
DEAR = EMBED | {"input": ["x" * 9_000] * 40}
HELD = "[[tokens 20]] [[hold]]"
SURFACES = ["/v1", "/openai/v1"]


def ask(surface: Surface, path: str, body: dict[str, Any], **headers: str) -> httpx.Response:
    call = "embeddings" if "input" in body else "chat/completions"
    return surface.http.post(f"{path}/{call}", json=body, headers=headers)


def error_of(answer: httpx.Response) -> dict[str, Any]:
    """The error object, once it was checked against the catalogue."""
    error: dict[str, Any] = answer.json()["error"]
    entry = CATALOGUE[error["code"]]
    assert (error["retry"], error["charged"]) == (entry.retry, entry.charged)
    assert answer.status_code in (entry.status, 429 if entry.status == 402 else entry.status)
    assert answer.headers["x-request-id"]
    is_held_back = entry.retry != "same" and answer.status_code in (402, 403, 409, 429)
    assert answer.headers.get("x-should-retry") == ("false" if is_held_back else None)
    return error


@pytest.mark.parametrize("path", SURFACES)
def test_key_that_may_not_is_told_what_is_missing(surface: Surface, path: str) -> None:
    acme = Organization.objects.get()
    key_id = error_of(ask(surface, path, CHAT, Authorization=f"Bearer {surface.key.caller.key_id}"))
    assert (key_id["code"], "key id" in key_id["message"]) == ("invalid_api_key", True)
    scope = error_of(ask(surface, path, CHAT, Authorization=make_key(acme, scopes=frozenset({"batch:read"})).header))
    assert (scope["code"], scope["required"], scope["accepted"]) == ("missing_scope", "text:write", ["text:write"])
    other = error_of(ask(surface, path, CHAT, Authorization=make_key(acme, models=frozenset({"m"})).header))
    assert (other["code"], other["allowed_models"]) == ("model_not_allowed", ["m"])
    plan = plans.create(terms=PlanTerms("few", "Few", frozenset({"decisions"})), **BY)
    plans.give(organization_id=acme.pk, plan_id=plan.pk, **BY)
    told = [error_of(ask(surface, path, body)) for body in (CHAT, EMBED)]
    assert [(one["code"], one["plan"]) for one in told] == [
        ("plan_has_no_chat", "few"),
        ("plan_has_no_embeddings", "few"),
    ]
    Plan.objects.filter(pk=plan.pk).update(surfaces=["chat"])
    decision = {"model": "scripted-decide", "state": "s", "questions": {"q": {"type": "noul", "instructions": "i"}}}
    refused = surface.http.post("/v1/systemone", json=decision)
    assert error_of(refused)["code"] == "plan_has_no_decisions"


@pytest.mark.parametrize(("path", "status"), [("/v1", 402), ("/openai/v1", 429)])
def test_empty_wallet_says_what_is_needed_there_and_affordable(surface: Surface, path: str, status: int) -> None:
    globex = make_organization("Globex")
    grant_credits(globex, 1)
    poor = make_key(globex).header
    card = price_cards.current("scripted-embed")
    assert card and card.realtime
    refused = ask(surface, path, DEAR, Authorization=poor)
    error = error_of(refused)
    assert (refused.status_code, error["code"], error["type"]) == (status, "insufficient_credits", "insufficient_quota")
    assert error["required"] > error["balance"] == 1
    assert error["affordable_tokens"] == 10**13 // card.realtime.input
    empty = error_of(ask(surface, path, CHAT, Authorization=make_key(make_organization("Initech")).header))
    assert (empty["code"], empty["balance"], "affordable_tokens" in empty) == ("insufficient_credits", 0, False)


@pytest.mark.parametrize("path", SURFACES)
def test_key_at_its_ceiling_says_what_is_spent_of_it(surface: Surface, path: str) -> None:
    bound = make_key(Organization.objects.get(), monthly_ceiling_cents=1).header
    error = error_of(ask(surface, path, DEAR, Authorization=bound))
    assert (error["code"], error["type"]) == ("key_credit_ceiling", "insufficient_quota")
    assert (error["ceiling"], error["spent"]) == (1, 0)


@pytest.mark.parametrize(("path", "full", "busy"), [("/v1", None, None), ("/openai/v1", "wait_capacity", "model_busy")])
def test_places_that_are_all_taken_are_waited_for(surface: Surface, scripted, monkeypatch, path, full, busy) -> None:
    def refused_while_one_runs() -> dict[str, Any]:
        with ThreadPoolExecutor(1) as pool:
            slow = CHAT | {"messages": [{"role": "user", "content": f"{HELD} {uuid4()}"}], "max_tokens": 50}
            running = pool.submit(ask, surface, path, slow)
            until(lambda: scripted.stats()["held"] == 1)
            error = error_of(ask(surface, path, CHAT))
            scripted.release()
            assert running.result().status_code == 200
        assert error["retry_after"] == 1
        return error

    organization_id = surface.key.caller.organization_id
    organizations.limit_in_flight(organization_id=organization_id, limit=1, **BY)
    assert refused_while_one_runs()["code"] == (full or "rate_limit_exceeded")
    organizations.limit_in_flight(organization_id=organization_id, limit=None, **BY)
    model = catalogue.get("scripted")
    assert model
    narrow = msgspec.structs.replace(model, realtime=msgspec.structs.replace(model.realtime, concurrency=1))
    monkeypatch.setattr(offers.catalogue, "get", lambda _: narrow)
    assert refused_while_one_runs()["code"] == (busy or "rate_limit_exceeded")
