"""Requests that reach no view, and views that fail: an answer in the form of the surface, never a traceback."""

import pytest
from django.test import Client

from tests.factories import make_key, make_user, pass_second_factor

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
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize("path", ["/v1/", "/v1/nothing", "/v1/%00", "/openai/v1/models"])
def test_unknown_paths_for_openais_clients_are_refused_as_they_read_it(visitor, path):
    answer = visitor.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"] == {
        "message": "There is no such endpoint.",
        "type": "invalid_request_error",
        "code": "not_found",
        "param": None,
        "retry": "no",
        "charged": False,
    }


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/usage", "/realtime/v1/nothing", "/batch/v1/jobs"])
def test_every_answer_of_the_apis_has_an_id_of_its_own(visitor, path):
    ids = {visitor.get(path).headers["x-request-id"] for _ in range(2)}
    assert len(ids) == 2
    assert "x-request-id" not in visitor.get("/dashboard").headers


MANY = "&".join(f"a{number}=1" for number in range(1500))


def test_a_query_of_too_many_parameters_is_refused_in_the_form_of_the_surface(visitor):
    key = {"Authorization": make_key().header}
    listed = visitor.get(f"/batch/v1/jobs?{MANY}", headers=key)
    assert (listed.status_code, listed.json()) == (422, {"detail": "The query has too many parameters."})
    used = visitor.get(f"/v1/usage?{MANY}", headers=key)
    assert (used.status_code, used.json()["error"]["code"]) == (400, "invalid_request")
    assert visitor.get(f"/jobs?{MANY}").headers["content-type"].startswith("text/html")


def test_a_host_that_is_not_ours_is_refused_in_json(visitor, settings):
    settings.ALLOWED_HOSTS = ["testserver"]
    answer = visitor.post("/batch/v1/jobs", headers={"Host": "evil.example"})
    assert (answer.status_code, list(answer.json())) == (400, ["detail"])
    assert visitor.get("/dashboard", headers={"Host": "evil.example"}).status_code == 400


def test_a_nul_for_openais_clients_is_refused_by_the_view(visitor):
    answer = visitor.get("/v1/usage?group_by=%00", headers={"Authorization": make_key().header})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "group_by")


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
