import pytest
from django.test import Client

from tests.factories import make_organization, make_user


@pytest.fixture
def acme(db):
    return make_organization("Acme")


@pytest.fixture
def ada(acme):
    """A browser in which Ada, owner of Acme, is signed in."""
    client = Client()
    client.force_login(make_user("ada"))
    return client


@pytest.fixture(autouse=True)
def objects(tmp_path, settings):
    """Every test has a store of its own."""
    settings.ANEX_STORAGE_DIR = tmp_path / "objects"
