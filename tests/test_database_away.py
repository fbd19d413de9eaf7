"""Postgres is away: every API answers 503 with a wait in its own shape, pages say so, and no host is named."""

import re

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from accounts.services import keys
from anex.core.actors import system
from anex.docs import models
from anex.refusals import OPENAI_PATHS
from inference.backends import registry
from tests.factories import make_key

pytestmark = pytest.mark.django_db
SOME_ID = "11111111-1111-1111-1111-111111111111"


def api_paths() -> list[str]:
    """Every path of Django below the APIs."""

    def walk(patterns: list[URLPattern | URLResolver], before: str) -> list[str]:
        found: list[str] = []
        for one in patterns:
            path = before + str(one.pattern)
            found += walk(one.url_patterns, path) if isinstance(one, URLResolver) else [path]
        return found

    paths = ["/" + re.sub(r"<[^>]*>", SOME_ID, path) for path in walk(get_resolver().url_patterns, "")]
    return [path for path in paths if path.startswith(("/batch/", *OPENAI_PATHS))]


def test_there_are_paths_to_try() -> None:
    assert {"/v1/usage", "/batch/v1/jobs"} <= set(api_paths())


@pytest.mark.parametrize("error", [OperationalError("no such host db-1"), InterfaceError("closed by db-1")])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_every_path_answers_503_with_a_wait(method: str, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    header = make_key().header
    caller = keys.authenticate(header)

    def away(*_: object) -> None:
        raise error

    for knows_the_key in (False, True):
        if knows_the_key:
            monkeypatch.setattr(keys, "authenticate", lambda _: caller)
        with connection.execute_wrapper(away):
            for path in api_paths():
                answer = Client(raise_request_exception=False).generic(
                    method, path, "{}", content_type="application/json", headers={"Authorization": header}
                )
                if answer.status_code in (400, 404, 405, 422):
                    continue
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "1"), (path, answer.content)
                told = answer.json()
                if path.startswith(OPENAI_PATHS):
                    assert (told["error"]["code"], told["error"]["type"]) == ("unavailable", "server_error")
                else:
                    assert list(told) == ["detail"]
                assert "db-1" not in answer.content.decode()


def test_pages_that_need_no_sign_in_are_served_with_the_models_as_they_last_stood(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(models, "_rests_until", 0.0)
    monkeypatch.setattr(models, "_last", models.Standing([], frozenset(), {}))
    where = {"base_url": "http://10.0.0.5/v1", "served_name": "m", "actor": system("tests")}
    registry.configure(model_id="scripted", **where)
    registry.switch(enabled=False, model_id="scripted", off_reason="it repeats itself", actor=system("tests"))
    assert "it repeats itself" in Client().get("/models/scripted").content.decode()

    def away(*_: object) -> None:
        raise OperationalError("no such host db-1")

    with connection.execute_wrapper(away):
        for path in ("/", "/docs", "/docs/errors", "/models", "/pricing", "/llms.txt", "/accounts/login/"):
            assert (path, Client(raise_request_exception=False).get(path).status_code) == (path, 200)
        assert "it repeats itself" in Client().get("/models/scripted").content.decode()


def test_pages_answer_503_too() -> None:
    def away(*_: object) -> None:
        raise OperationalError("no such host db-1")

    with connection.execute_wrapper(away):
        answer = Client(raise_request_exception=False).post("/accounts/login/", {"login": "a@b.de", "password": "x"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.headers["content-type"].startswith("text/html")
    assert "db-1" not in answer.content.decode()
