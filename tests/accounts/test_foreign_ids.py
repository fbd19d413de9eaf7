"""An id of another organization is answered like one that never was: same status, same body, same number of queries."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.services import invitations
from tests.console import scenes
from tests.factories import actor_of, make_key, make_organization, make_user

pytestmark = pytest.mark.django_db

NOWHERE = "00000000-0000-0000-0000-000000000000"
PAGES = [
    ("post", "/organizations/{organization}/switch"),
    ("post", "/members/{person}/role"),
    ("get", "/members/{person}/remove"),
    ("post", "/members/{person}/remove"),
    ("get", "/members/{person}/transfer"),
    ("post", "/members/{person}/transfer"),
    ("post", "/invitations/{invitation}/resend"),
    ("post", "/invitations/{invitation}/revoke"),
    ("get", "/keys/{key}/edit"),
    ("post", "/keys/{key}/edit"),
    ("get", "/keys/{key}/rotate"),
    ("post", "/keys/{key}/rotate"),
    ("post", "/keys/{key}/end-overlap"),
    ("get", "/keys/{key}/revoke"),
    ("post", "/keys/{key}/revoke"),
    ("get", "/webhooks/{endpoint}"),
    ("get", "/webhooks/{endpoint}/edit"),
    ("post", "/webhooks/{endpoint}/edit"),
    ("get", "/webhooks/{endpoint}/rotate"),
    ("post", "/webhooks/{endpoint}/rotate"),
    ("post", "/webhooks/{endpoint}/end-overlap"),
    ("post", "/webhooks/{endpoint}/test"),
    ("post", "/webhooks/{endpoint}/enable"),
    ("post", "/webhooks/{endpoint}/disable"),
    ("get", "/webhooks/{endpoint}/delete"),
    ("post", "/webhooks/{endpoint}/delete"),
    ("get", "/webhooks/deliveries/{delivery}"),
    ("post", "/webhooks/deliveries/{delivery}/resend"),
]
UNKNOWN = {
    "organization": NOWHERE,
    "person": 10**9,
    "invitation": NOWHERE,
    "key": "a" * 12,
    "endpoint": NOWHERE,
    "delivery": NOWHERE,
}
FIELDS = {"role": "admin", "overlap": "24", "name": "x", "url": "https://example.com"}


@pytest.fixture
def foreign():
    """What Globex has: an organization, a person, an invitation, a key, an endpoint and a delivery to it."""
    globex, grace = make_organization("Globex"), make_user("grace")
    offer = invitations.create(
        organization_id=globex.pk, email="joan@example.com", role="member", actor=actor_of(grace)
    )
    endpoint = scenes.endpoint(globex)
    return {
        "organization": globex.pk,
        "person": grace.pk,
        "invitation": offer.pk,
        "key": make_key(globex).caller.key_id,
        "endpoint": endpoint.pk,
        "delivery": scenes.delivery(endpoint).pk,
    }


@pytest.fixture
def owner():
    make_organization("Acme")
    client = Client()
    client.force_login(make_user("ada"))
    return client


@pytest.mark.parametrize(("method", "path"), PAGES)
def test_foreign_id_is_no_id(owner, foreign, method, path):
    seen = []
    for ids in (foreign, UNKNOWN):
        with CaptureQueriesContext(connection) as queries:
            answer = getattr(owner, method)(path.format(**ids), FIELDS)
        seen.append((answer.status_code, answer.content, len(queries)))
    assert seen[0] == seen[1]
    assert seen[0][0] == 404


@pytest.mark.parametrize("number", ["99999999999999999999", "-1", "1e308", "NaN"])
def test_number_that_is_no_persons_id_is_not_found(owner, number):
    assert owner.post(f"/members/{number}/remove").status_code == 404
