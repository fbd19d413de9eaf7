"""Every route of the URL conf and of the raw table, asked by nobody: protected answers, no way in, no forged form.

A new route is asked by itself; one that answers strangers, or that takes forms without a token, must be named here.
"""

import httpx
import pytest
from django.urls import resolve

from anex.refusals import API_PATHS
from tests.whole import Route, django_routes, raw_routes, serving

pytestmark = pytest.mark.django_db(transaction=True)

PROTECTION = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
# Forms that need no token, for what they do: colours; a message that is signed.
NO_TOKEN = {"theme", "billing/webhooks/<slug:gateway_name>"}
# Routes of the APIs whose proof is a signature in the link.
SIGNED = {"v1/uploads/<path:name>", "openai/v1/uploads/<path:name>"}
# What everybody may read, beside the pages of anex.docs and of signing in.
OPEN = {"admin/jsi18n/"}
# What models there are, and whether the process serves, is no secret.
OPEN_CALLS = {
    *(f"^{surface}/v1/models$" for surface in ("openai", "realtime")),
    *(f"^{surface}v1/models/(?P<model>.+)$" for surface in ("", "openai/")),
    "^v1/models$",
    "^healthz$",
    "^readyz$",
}
LOGIN = "/accounts/login/"
UNKNOWN_KEY = {"Authorization": f"Bearer sk-{'a' * 52}"}


@pytest.fixture
def stranger():
    with serving() as origin, httpx.Client(base_url=origin, timeout=60) as client:
        yield client


def is_of_the_docs(route: Route) -> bool:
    return getattr(route.view, "__module__", "").startswith("anex.docs.")


def check_protection(answer: httpx.Response) -> None:
    where = str(answer.request.url)
    assert answer.status_code < 500, where
    found = {name: answer.headers.get(name) for name in PROTECTION}
    assert found == PROTECTION, where
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"], where
    assert "camera=()" in answer.headers["permissions-policy"], where
    for cookie in answer.headers.get_list("set-cookie"):
        assert "HttpOnly" in cookie, where
        assert "SameSite=Lax" in cookie, where
    repeated = [name for name in (*PROTECTION, "content-security-policy") if len(answer.headers.get_list(name)) > 1]
    assert not repeated, where


def check_stranger(route: Route, answer: httpx.Response) -> None:
    """A page sends strangers to sign in, or is not there for them."""
    status, target = answer.status_code, answer.headers.get("location", "")
    assert not target.startswith(("http", "//")), route
    if not is_of_the_docs(route):
        assert "no-store" in answer.headers["cache-control"], route
    if is_of_the_docs(route) or route.route.startswith("accounts/") or route.route in OPEN:
        return
    if route.route.startswith("admin/") or (status == 302 and target.startswith(LOGIN)):
        assert status in (301, 302, 404), route
        return
    assert status in (404, 405), (route, status, target)


def test_pages_are_protected_send_strangers_away_and_take_no_forged_form(stranger):
    exempt = set()
    pages = [route for route in django_routes() if not route.path.startswith(API_PATHS)]
    assert len(pages) > 100
    for route in pages:
        assert resolve(route.path).route or route.path == "/", route
        answer = stranger.get(route.path)
        check_protection(answer)
        check_stranger(route, answer)
        stranger.cookies.clear()
        if getattr(route.view, "csrf_exempt", False):
            exempt.add(route.route)
        elif stranger.post(route.path, data={"x": "y"}).status_code != 403:
            pytest.fail(f"{route} takes a form without a token")
    assert exempt == NO_TOKEN


def test_every_call_of_the_apis_asks_for_a_key_and_no_cookie_is_one(stranger):
    calls = [route for route in django_routes() if route.path.startswith(API_PATHS)]
    assert len(calls) > 25
    for route in calls:
        if route.route in SIGNED:
            assert stranger.get(route.path).status_code in (403, 404)
            continue
        names = {kind.__name__ for kind in route.view.cls.authentication_classes}
        assert names <= {"KeyAuthentication", "BearerKey"}, route
        assert names, route
        for method in route.view.cls().allowed_methods:
            if method != "OPTIONS":
                answer = stranger.request(method, route.path, headers=UNKNOWN_KEY)
                check_protection(answer)
                assert answer.status_code == 401, (route, method)
                assert "set-cookie" not in answer.headers


def test_every_raw_route_is_protected_and_asks_for_a_key_or_a_signature(stranger):
    for route in raw_routes():
        answers = [
            stranger.request(method, route.path, content=b"{}", headers=UNKNOWN_KEY) for method in ("GET", "POST")
        ]
        for answer in answers:
            check_protection(answer)
        refused = {answer.status_code for answer in answers} - {405}
        if route.route not in OPEN_CALLS:
            assert refused, route
            assert refused <= ({400, 403, 404, 412} if route.path.startswith("/storage/") else {401}), route
