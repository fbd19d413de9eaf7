"""Acme with a hundred dollars and a key; a store in a folder of its own."""

from pathlib import Path

import pytest
from rest_framework.test import APIClient

from accounts.models import Organization
from tests.factories import KeyInHand, grant_credits, make_key, make_organization


@pytest.fixture(autouse=True)
def _own_store(settings, tmp_path: Path) -> None:
    settings.ANEX_STORAGE_DIR = tmp_path / "objects"


@pytest.fixture
def acme(db) -> Organization:
    organization = make_organization("Acme")
    grant_credits(organization)
    return organization


@pytest.fixture
def globex(db) -> Organization:
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
