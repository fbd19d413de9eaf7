"""Requests that reach no view, and views that fail: an answer in the form of the surface, never a traceback."""

import pytest
from django.test import Client

from tests.factories import make_user, pass_second_factor

pytestmark = pytest.mark.django_db
HOSTILE_COOKIE = 'anex_session="\\000abcdefghijk"'


@pytest.fixture
def visitor() -> Client:
    visitor = Client(raise_request_exception=False)
    root = make_user("root", is_staff=True, is_superuser=True)
    visitor.force_login(root)
    pass_second_factor(visitor, root)
    return visitor


@pytest.mark.parametrize("path", ["", "jobs/", "nope", "jobs/x/approve/", "jobs/x/y", "%00"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_unknown_paths_of_the_api_are_refused_in_json(visitor, method, path):
    answer = visitor.generic(method, f"/batch/v1/{path}")
    assert (answer.status_code, answer.json()) == (404, {"detail": "There is no such endpoint."})


def test_a_failure_of_ours_is_told_to_programs_in_json(visitor, monkeypatch):
    monkeypatch.setattr("jobs.selectors.jobs.get", lambda *_: 1 / 0)
    monkeypatch.setattr("accounts.services.keys.authenticate", lambda _: type("Caller", (), {"organization_id": None}))
    answer = visitor.get("/batch/v1/jobs/11111111-1111-1111-1111-111111111111", HTTP_AUTHORIZATION="x")
    assert answer.status_code == 500
    assert "detail" in answer.json()


@pytest.mark.parametrize("path", ["/keys/%00/revoke", "/admin/accounts/apikey/%00/change/", "/jobs/%00"])
def test_a_path_with_a_nul_names_nothing(visitor, path):
    assert visitor.get(path).status_code == 404


@pytest.mark.parametrize("query", ["status__exact=%00", "%00=1", "a=1&a=%00"])
def test_a_query_with_a_nul_is_refused(visitor, query):
    assert visitor.get(f"/admin/jobs/job/?{query}").status_code == 400


def test_a_cookie_with_a_nul_is_refused(visitor):
    assert Client(raise_request_exception=False).get("/dashboard", HTTP_COOKIE=HOSTILE_COOKIE).status_code == 400


def test_staff_sign_in_where_everybody_does(client):
    answer = client.get("/admin/", follow=True)
    assert answer.redirect_chain[-1][0].startswith("/accounts/login/")


def test_customers_do_not_reach_the_staff_area(client):
    client.force_login(make_user("ada"))
    assert client.get("/admin/login/").status_code == 403
