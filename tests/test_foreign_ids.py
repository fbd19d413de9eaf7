"""An id of another organization is answered like one that never was: same status, same body, same number of queries.

Every path that names something is here; a path that is not fails the last test.
"""

import uuid

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver

from accounts.services import invitations
from anex.core import clock
from billing.services import holds, topups
from jobs.selectors import inputs
from tests.console import scenes
from tests.factories import actor_of, grant_credits, make_input, make_key, make_organization, make_user
from tests.jobs import batches
from tests.jobs.api import stages
from tests.jobs.api.conftest import served
from tests.whole import raw_routes

pytestmark = pytest.mark.django_db
__all__ = ["served"]

NOWHERE = "00000000-0000-0000-0000-000000000000"
CONSOLE = [
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
    ("post", "/jobs/new"),
    ("get", "/jobs/{job}"),
    ("get", "/jobs/{job}/live"),
    ("post", "/jobs/{job}/approve"),
    ("get", "/jobs/{job}/cancel"),
    ("post", "/jobs/{job}/cancel"),
    ("get", "/jobs/{job}/results"),
    ("get", "/jobs/{job}/results/0"),
    ("get", "/jobs/{job}/delete"),
    ("post", "/jobs/{job}/delete"),
    ("post", "/jobs/{job}/pause"),
    ("post", "/jobs/{job}/resume"),
    ("post", "/jobs/{job}/retry"),
    ("get", "/jobs/{job}/result"),
    ("get", "/jobs/{job}/errors"),
    ("get", "/jobs/{job}/results"),
    ("get", "/jobs/{job}/results/1"),
    ("get", "/jobs/new/input/{input}"),
    ("get", "/playground/requests/{turn}"),
    ("get", "/credits/statements/{month}"),
    ("get", "/credits/payments/{payment}"),
    ("get", "/credits/payments/{payment}/receipt"),
    ("get", "/billing/local/{payment}"),
    ("post", "/billing/local/{payment}"),
]
API = [
    ("get", "/batch/v1/inputs/{input}"),
    ("get", "/batch/v1/jobs/{job}"),
    ("post", "/batch/v1/jobs/{job}/approve"),
    ("post", "/batch/v1/jobs/{job}/cancel"),
    ("delete", "/batch/v1/jobs/{job}/data"),
    ("post", "/batch/v1/jobs/{job}/pause"),
    ("post", "/batch/v1/jobs/{job}/resume"),
    ("post", "/batch/v1/jobs/{job}/retry"),
    ("get", "/batch/v1/jobs/{job}/result"),
    ("get", "/batch/v1/jobs/{job}/rows"),
    ("get", "/v1/files/{file}"),
    ("get", "/v1/batches/{batch}"),
    ("post", "/v1/batches/{batch}/cancel"),
    ("get", "/v1/jobs/{turn}"),
    ("get", "/openai/v1/jobs/{turn}"),
]
UNKNOWN = {
    name: NOWHERE for name in ("organization", "invitation", "job", "input", "payment", "endpoint", "delivery")
} | {
    "person": 10**9,
    "key": "a" * 12,
    "uri": f"s3://anex-world/uploads/{NOWHERE}/{NOWHERE}.jsonl",
    "month": "1999-01",
    "batch": "batch_" + "0" * 32,
    "file": "file-" + "0" * 32,
    "turn": "0" * 32,
}
FIELDS = {"role": "admin", "overlap": "24", "name": "x", "url": "https://example.com"}
# What names nothing of an organization's: a secret that is its own proof, and a gateway.
OF_NOBODY = {
    "invitations/<str:token>",
    "v1/uploads/<path:name>",
    "openai/v1/uploads/<path:name>",
    "billing/webhooks/<slug:gateway_name>",
    # Public; a template of a custom model answers as an unknown one does (tests/docs).
    "static/chat-templates/<str:model_id>.jinja",
    "docs/<slug:slug>",
    "docs/<slug:slug>.md",
    "models/<str:model_id>",
    "models/<str:model_id>.md",
    "blog/<slug:slug>",
    "blog/<slug:slug>.md",
}


@pytest.fixture
def foreign(served):
    """What Globex has of everything that is named by an id."""
    globex, grace, payment = make_organization("Globex"), make_user("grace"), uuid.uuid4()
    offer = invitations.create(
        organization_id=globex.pk, email="joan@example.com", role="member", actor=actor_of(grace)
    )
    grant_credits(globex)
    a_month_that_only_globex_has()
    topups.start(organization_id=globex.pk, topup_id=payment, cents=2_000, save_method=False, actor=actor_of(grace))
    holds.place(organization_id=globex.pk, source=f"req:{'1' * 32}", amount_nano=1, actor=actor_of(grace))
    source, endpoint = make_input(globex), scenes.endpoint(globex)
    batch = batches.make(stages.quoted(globex))
    return {
        "organization": globex.pk,
        "person": grace.pk,
        "invitation": offer.pk,
        "key": make_key(globex).caller.key_id,
        "job": stages.quoted(globex).pk,
        "input": source.pk,
        "uri": inputs.uri(source),
        "payment": payment,
        "endpoint": endpoint.pk,
        "delivery": scenes.delivery(endpoint).pk,
        "month": "2026-01",
        "batch": f"batch_{batch.pk.hex}",
        "file": f"file-{batch.input_id.hex}",
        "turn": "1" * 32,
    }


def a_month_that_only_globex_has():
    """Put its ledger into the past, past the guard that refuses it."""
    connection.check_constraints()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE billing_transfer DISABLE TRIGGER billing_transfer_refuse_change")
        cursor.execute("UPDATE billing_transfer SET at = '2026-01-15T12:00Z'")


@pytest.fixture
def acme(foreign):
    """After Globex's, whose past is not Acme's."""
    organization = make_organization("Acme")
    grant_credits(organization)
    return organization


@pytest.fixture
def owner(acme):
    client = Client()
    client.force_login(make_user("ada"))
    return client


@pytest.fixture
def api(acme):
    key = make_key(acme)
    client = Client(headers={"authorization": key.header})
    client.get("/batch/v1/jobs/used-this-minute")
    return client


def asked(client, method, path, foreign, data, **more):
    """Status, body and number of queries, for the foreign ids and for ids that never were."""
    seen = []
    for ids in (foreign, UNKNOWN):
        filled = {name: value.format(**ids) if isinstance(value, str) else value for name, value in data.items()}
        with CaptureQueriesContext(connection) as queries:
            answer = getattr(client, method)(path.format(**ids), filled, **more)
        # The OpenAI-compatible host repeats the id it was asked for.
        content = answer.content
        for name in ("batch", "file"):
            content = content.replace(ids[name].encode(), name.encode())
        seen.append((answer.status_code, content, len(queries)))
    return seen


@pytest.mark.parametrize(("method", "path"), CONSOLE)
def test_foreign_id_is_no_id_in_the_console(owner, foreign, method, path):
    data = FIELDS | {"model": stages.MODEL, "input_id": "{input}"}
    theirs, nobodys = asked(owner, method, path, foreign, data)
    assert theirs == nobodys
    assert theirs[0] == 404


@pytest.mark.parametrize(("method", "path"), API)
def test_foreign_id_is_no_id_in_the_api(api, foreign, method, path):
    as_json = {} if method == "get" else {"content_type": "application/json"}
    theirs, nobodys = asked(api, method, path, foreign, {}, **as_json)
    assert theirs == nobodys
    assert theirs[0] == 404


@pytest.mark.parametrize("named", [{"input_id": "{input}"}, {"input_s3_uri": "{uri}"}])
def test_foreign_input_is_no_input_for_a_job(api, foreign, named):
    theirs, nobodys = asked(
        api, "post", "/batch/v1/jobs", foreign, {"model": stages.MODEL} | named, content_type="application/json"
    )
    assert theirs == nobodys
    assert theirs[0] == 404


def test_foreign_file_is_no_file_for_a_batch(api, foreign):
    data = {"input_file_id": "{file}", "endpoint": batches.ENDPOINT, "completion_window": "24h"}
    theirs, nobodys = asked(api, "post", "/v1/batches", foreign, data, content_type="application/json")
    assert theirs == nobodys
    assert theirs[0] == 404


@pytest.mark.parametrize("month", ["2026-01", "1999-01", "9999-12"])
def test_statement_of_a_month_without_lines_is_not_found_whoever_has_some(owner, month):
    assert owner.get(f"/credits/statements/{month}").status_code == 404
    assert owner.get(f"/credits/statements/{clock.now():%Y-%m}").status_code == 200


@pytest.mark.parametrize("number", ["99999999999999999999", "-1", "1e308", "NaN"])
def test_number_that_is_no_persons_id_is_not_found(owner, number):
    assert owner.post(f"/members/{number}/remove").status_code == 404


def routes(patterns, before=""):
    """Every path of ours that names something; the staff area and sign-in are other people's libraries."""
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            if route not in ("accounts/", "admin/"):
                yield from routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern) and "<" in route:
            yield route


# Of the raw table: what names a public thing, is proved by its signature, or is asked below tests/jobs/api/files.
RAW_OF_NOBODY = {
    r"^v1/models/(?P<model>.+)$",
    r"^openai/v1/models/(?P<model>.+)$",
    r"^storage/object/(?P<key>.+)$",
    r"^v1/files/(?P<file_id>[^/]+)/content$",
}


def test_every_raw_path_that_names_something_is_known():
    assert {route.route for route in raw_routes() if "(?P<" in route.route} == RAW_OF_NOBODY


def test_every_path_that_names_something_is_asked():
    named = [path.format(**UNKNOWN).lstrip("/") for _, path in (*CONSOLE, *API)]
    resolver = get_resolver()
    asked_for = {resolver.resolve(f"/{path}").route for path in named}
    assert set(routes(resolver.url_patterns)) - OF_NOBODY == {route for route in asked_for if "<" in route}
