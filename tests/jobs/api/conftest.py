"""A key of Acme, and a client that sends it."""

import pytest
from rest_framework.test import APIClient

from accounts.models import Organization
from anex.core.actors import system
from inference.backends import registry
from tests.factories import KeyInHand, grant_credits, make_key, make_organization
from tests.jobs.api import stages


@pytest.fixture
def served(db) -> None:
    for model_id in (stages.MODEL, "qwen3.8-27b"):
        registry.configure(
            model_id=model_id, base_url="http://127.0.0.1:9/v1", served_name=model_id, actor=system("tests")
        )


@pytest.fixture
def acme(db, served) -> Organization:
    organization = make_organization("Acme")
    grant_credits(organization)
    return organization


@pytest.fixture
def globex(db, served) -> Organization:
    return make_organization("Globex")


@pytest.fixture
def key(acme: Organization) -> KeyInHand:
    return make_key(acme)


@pytest.fixture
def api(key: KeyInHand) -> APIClient:
    return client_of(key)


def client_of(key: KeyInHand) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=key.header)
    return client
