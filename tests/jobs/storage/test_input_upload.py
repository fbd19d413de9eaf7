"""The whole way of a file: created through the API, uploaded to the web server, ready."""

import uuid

import pytest
import requests

from jobs.storage import store
from tests.factories import grant_credits, make_key, make_organization
from tests.jobs.storage.conftest import Web


@pytest.fixture
def api(db, settings, web: Web, client):
    settings.ANEX_STORAGE_DIR = web.folder
    settings.ANEX_PUBLIC_URL = web.url
    acme = make_organization("Acme")
    grant_credits(acme)
    client.defaults["HTTP_AUTHORIZATION"] = make_key(acme).header
    return client


@pytest.mark.parametrize("content", [b'{"custom_id":"1"}\n' * 1000, b""])
def test_a_file_goes_to_the_target_and_the_input_is_ready(api, content):
    created = api.post("/batch/v1/inputs", {"format": "jsonl"}, content_type="application/json").json()
    answer = requests.post(
        created["upload_url"], data=created["fields"], files={"file": ("rows.jsonl", content)}, timeout=30
    )
    assert answer.status_code == 204
    assert api.get(f"/batch/v1/inputs/{uuid.UUID(created['id'])}").json()["status"] == "ready"
    assert store().read(created["fields"]["key"]) == content


def test_a_picture_goes_to_its_target_and_is_read_by_its_url_alone(api, web: Web):
    upload = api.post("/v1/uploads", {"content_type": "image/png"}, content_type="application/json").json()
    url = upload["read_url"].replace("https://", "http://")
    assert requests.get(url, timeout=30).status_code == 404
    for content, status in ((b"x" * (upload["max_bytes"] + 1), 400), (b"picture", 204)):
        answer = requests.post(
            upload["upload_url"], data=upload["fields"], files={"file": ("a.png", content)}, timeout=30
        )
        assert answer.status_code == status
    assert requests.get(url, timeout=30).content == b"picture"
    forged = requests.get(url.replace("signature=", "signature=x"), timeout=30)
    assert (forged.status_code, forged.json()["error"]["code"]) == (404, "not_found")
