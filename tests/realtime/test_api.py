"""The realtime API as far as it goes: every refusal is the one that holds, and no model is promised."""

import json

import pytest
from django.test import Client

from tests.factories import make_key
from tests.models_folder import ModelsFolder


@pytest.fixture
def anybody() -> Client:
    return Client()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("embeddings", {"model": "qwen3-embedding-8b", "input": "a"}, 501),
        ("embeddings", {"model": "laya", "input": "a"}, 400),
        ("systemone", {"model": "qwen3-embedding-8b"}, 400),
        ("systemone", {"model": "laya"}, 501),
        ("systemone", {"model": "nobody"}, 404),
        ("systemone", {}, 422),
        ("systemone", [], 422),
    ],
)
def test_realtime_says_that_it_serves_no_model_yet(anybody: Client, path: str, body: object, status: int) -> None:
    headers = {"Authorization": f"Bearer {make_key().secret}"}
    answer = anybody.post(f"/realtime/v1/{path}", json.dumps(body), content_type="application/json", headers=headers)
    assert answer.status_code == status
    assert "detail" in answer.json()
    assert anybody.post(f"/realtime/v1/{path}", "{}", content_type="application/json").status_code == 422


@pytest.mark.django_db
def test_custom_model_of_another_organization_does_not_exist(anybody: Client, operator: ModelsFolder) -> None:
    operator.add("acme-chat", organization="0f0e0d0c-0b0a-4908-8706-050403020100")
    headers = {"Authorization": f"Bearer {make_key().secret}"}
    answer = anybody.post(
        "/realtime/v1/embeddings", {"model": "acme-chat"}, content_type="application/json", headers=headers
    )
    assert (answer.status_code, answer.json()["detail"]) == (404, "unknown model 'acme-chat'")


def test_the_list_of_realtime_models_needs_no_key(anybody: Client) -> None:
    assert anybody.get("/realtime/v1/models").json() == {"object": "list", "data": []}
