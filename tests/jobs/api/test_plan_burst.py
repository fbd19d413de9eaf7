"""A plan's burst: how many requests all keys of an organization may send in a second."""

import uuid

import pytest

from accounts.models import Plan
from accounts.plans import PlanTerms
from accounts.services import bursts, plans
from anex.core.actors import system
from tests.factories import make_key
from tests.jobs.api.conftest import client_of

PATH = f"/batch/v1/jobs/{uuid.uuid4()}"


@pytest.fixture
def burst_of_one(acme):
    plans.change(plan_id=Plan.objects.get().pk, terms=PlanTerms(burst=1), actor=system("tests"), reason="test")


def statuses(clients, times=12):
    return [clients[number % len(clients)].get(PATH).status_code for number in range(times)]


def test_keys_of_an_organization_share_it_and_are_told_to_wait(acme, burst_of_one, api):
    other_key = client_of(make_key(acme))
    seen = statuses([api, other_key])
    assert seen[0] == 404
    assert set(seen) == {404, 429}
    refused = next(answer for answer in (api.get(PATH) for _ in range(12)) if answer.status_code == 429)
    assert refused["Retry-After"] == "1"
    assert "a second" in refused.json()["detail"]


def test_another_organization_is_not_held_up(burst_of_one, api, globex):
    assert 429 in statuses([api])
    assert client_of(make_key(globex)).get(PATH).status_code == 404


def test_without_a_burst_nothing_is_counted(acme, api, monkeypatch):
    monkeypatch.setattr(bursts, "_limiter", None)
    assert set(statuses([api])) == {404}


def test_where_valkey_is_away_nothing_is_refused(acme, burst_of_one, api, settings, monkeypatch):
    bursts._limiter.cache_clear()
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:9/0"
    try:
        assert set(statuses([api], times=3)) == {404}
    finally:
        bursts._limiter.cache_clear()
