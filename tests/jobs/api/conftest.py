"""A key of Acme, and a client that sends it."""

import pytest
from rest_framework.test import APIClient

from accounts.models import Organization
from tests.factories import KeyInHand, make_key


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
