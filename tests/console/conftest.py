import pytest
from django.test import Client

from tests.factories import make_organization, make_user


@pytest.fixture
def acme(db):
    return make_organization("Acme")


@pytest.fixture
def ada(acme):
    """A browser in which Ada, owner of Acme, is signed in; it sends no form without its CSRF token."""
    client = Client()
    client.force_login(make_user("ada"))
    return client
