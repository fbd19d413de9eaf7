"""Each gateway in turn, with Acme and a browser in which Ada, its owner, is signed in."""

import pytest
from django.test import Client

from billing import gateways
from tests.billing.gateways.drivers import WEBHOOK_SECRET, LocalDriver, StripeDriver
from tests.billing.gateways.stripe_double import SECRET_KEY, StripeDouble
from tests.factories import make_organization, make_user


@pytest.fixture(scope="session")
def double_server():
    server = StripeDouble()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def stripe_driver(double_server, settings):
    double_server.down = double_server.declines = False
    double_server.created.clear()
    double_server.sessions.clear()
    double_server.requests.clear()
    settings.ANEX_STRIPE_SECRET_KEY = SECRET_KEY
    settings.ANEX_STRIPE_WEBHOOK_SECRET = WEBHOOK_SECRET
    settings.ANEX_STRIPE_API_BASE = double_server.url
    yield StripeDriver(double_server)
    gateways._stripe.cache_clear()


@pytest.fixture(params=["local", "stripe"])
def gateway(request):
    return LocalDriver() if request.param == "local" else request.getfixturevalue("stripe_driver")


@pytest.fixture
def acme(db):
    return make_organization("Acme")


@pytest.fixture
def ada(acme):
    client = Client()
    client.force_login(make_user("ada"))
    return client
