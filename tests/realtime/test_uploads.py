"""`POST /v1/uploads`: a picture that nobody hosts goes to the store and is named by the URL that was answered."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import Organization
from accounts.plans import PlanTerms
from accounts.services import freezes, organizations, plans
from anex.core import clock, safe_http
from anex.core.actors import system
from anex.core.error_catalogue import CATALOGUE
from jobs.services import media
from jobs.storage import store
from tests.factories import grant_credits, make_key, make_organization
from tests.inference.media import clips
from tests.jobs.api.conftest import client_of
from tests.realtime.served import Surface
from tests.realtime.test_description import described

PNG = clips.picture("png")
BY = {"actor": system("tests"), "reason": "a test"}
SURFACES = ["/v1", "/openai/v1"]


def create(client: APIClient, path: str = "/openai/v1", **body: Any) -> Any:
    return client.post(f"{path}/uploads", {"content_type": "image/png"} | body, format="json")


def landed(client: APIClient, data: bytes = PNG, **body: Any) -> str:
    """The read URL of an upload that has arrived."""
    upload = create(client, **body).json()
    store().put(upload["fields"]["key"], data)
    return upload["read_url"]


def ask(surface: Surface, url: str, path: str = "/openai/v1", kind: Any = "image") -> Any:
    content = [{"type": "text", "text": "hi"}, clips.by_url(kind, url)]
    body = {"model": "scripted-media", "messages": [{"role": "user", "content": content}], "max_tokens": 20}
    return surface.http.post(f"{path}/chat/completions", json=body)


@pytest.fixture
def uploader(surface: Surface, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> APIClient:
    """Beside a surface that reaches no host."""
    settings.ANEX_STORAGE_DIR = tmp_path

    def unasked(*_: Any, **__: Any) -> Any:
        raise AssertionError("a host was asked")

    monkeypatch.setattr(safe_http, "stream_get", unasked)
    return client_of(surface.key)


@pytest.mark.parametrize("path", SURFACES)
def test_uploaded_picture_is_read_from_the_store_and_billed(surface, uploader, path) -> None:
    url = landed(uploader)
    assert ask(surface, url, path).status_code == 200
    asked = {"model": "scripted-embed", "input": [[clips.by_url("image", url)]]}
    assert surface.http.post(f"{path}/embeddings", json=asked).status_code == 200
    assert [record.images for record in surface.settled(2)] == [1, 1]


def test_uploaded_clip_is_measured_and_billed_by_its_length(surface, uploader) -> None:
    url = landed(uploader, clips.audio("wav", 2.0), content_type="audio/wav")
    assert ask(surface, url, kind="audio").status_code == 200
    (record,) = surface.settled()
    assert (record.clips, record.audio_ms) == (1, pytest.approx(2000, abs=100))


def test_what_cannot_be_read_is_refused_alike_and_charged_nothing(surface, uploader, monkeypatch) -> None:
    globex = make_organization("Globex")
    grant_credits(globex)
    url, foreign = landed(uploader), landed(client_of(make_key(globex)))
    never = create(uploader).json()["read_url"]
    moved = foreign.split("?")[0] + "?" + url.split("?")[1]
    mine = url.replace(str(surface.key.caller.organization_id), str(globex.pk))
    with monkeypatch.context() as patch:
        patch.setattr(media, "LIFETIME", timedelta(0))
        past = landed(uploader)
    bad = (foreign, never, past, moved, mine, url.split("?")[0])
    refusals = [ask(surface, one, "/v1").json()["error"] for one in bad]
    assert len({str(refusal) for refusal in refusals}) == 1
    assert "messages[0].content[1]" in refusals[0]["message"]
    assert "404" in refusals[0]["message"]
    assert {record.amount_nano for record in surface.settled(len(refusals))} == {0}


def test_bytes_are_checked_as_those_of_any_host(surface, uploader) -> None:
    for data, reason in ((b"no picture", "first bytes"), (PNG[:8] + b"x" * 100, "no picture as png")):
        refused = ask(surface, landed(uploader, data))
        assert (refused.status_code, reason in refused.json()["error"]["message"]) == (400, True)
    large = ask(surface, landed(uploader, PNG + b"\0" * (65 * 1024 * 1024)))
    assert (large.status_code, "MiB" in large.json()["error"]["message"]) == (400, True)


def test_answer_names_target_limit_and_ends(uploader, surface) -> None:
    body = create(uploader).json()
    described("Upload").validate(body)
    now = clock.now().timestamp()
    assert body["fields"]["key"].startswith(f"media/{surface.key.caller.organization_id}/")
    assert 0 < body["max_bytes"] <= 64 * 1024 * 1024
    assert 0 < body["upload_expires_at"] - now <= 15 * 60
    assert body["expires_at"] - now < timedelta(days=1).total_seconds()
    assert body["read_url"].startswith("https://127.0.0.1:8000/v1/uploads/")
    assert create(uploader).json()["read_url"] != body["read_url"]


@pytest.mark.parametrize(("path", "code"), [("/v1", "invalid_request"), ("/openai/v1", "bad_value")])
def test_type_that_no_model_takes_is_refused_by_its_field(uploader, path, code) -> None:
    for content_type in ("image/svg+xml", "application/pdf", "image", "", 5, None):
        refused = create(uploader, path, content_type=content_type)
        error = refused.json()["error"]
        assert (refused.status_code, error["param"]) == (400, "content_type")
        assert error["code"] in (code, "invalid_request")
    assert create(uploader, path, purpose="batch").json()["error"]["param"] == "purpose"


def test_who_may_ask_no_model_may_upload_nothing(uploader, surface, settings) -> None:
    acme = Organization.objects.get()

    def refusal(client: APIClient, path: str = "/v1") -> tuple[int, str]:
        answer = create(client, path)
        code = answer.json()["error"]["code"]
        assert code in CATALOGUE
        return answer.status_code, code

    assert refusal(APIClient()) == (401, "invalid_api_key")
    assert refusal(client_of(make_key(acme, scopes=frozenset({"batch:write"})))) == (403, "missing_scope")
    assert create(client_of(make_key(acme, scopes=frozenset({"embeddings:write"})))).status_code == 200
    poor = client_of(make_key(make_organization("Globex")))
    assert refusal(poor) == (402, "insufficient_credits")
    assert refusal(poor, "/openai/v1") == (429, "insufficient_credits")
    settings.ANEX_OTHER_REGION_URL = "https://eu.anex.example"
    organizations.route_to_eu(organization_id=acme.pk, enabled=True, **BY)
    assert refusal(uploader) == (421, "misdirected")
    organizations.route_to_eu(organization_id=acme.pk, enabled=False, **BY)
    freezes.switch(surface="realtime", frozen=True, **BY)
    assert refusal(uploader) == (503, "frozen")
    freezes.switch(surface="realtime", frozen=False, **BY)
    plan = plans.create(terms=PlanTerms("few", "Few", frozenset({"batch"})), **BY)
    plans.give(organization_id=acme.pk, plan_id=plan.pk, **BY)
    assert refusal(uploader) == (403, "plan_has_no_api_generate")


def test_upload_is_deleted_within_a_day(uploader) -> None:
    fields = create(uploader).json()["fields"]
    store().put(fields["key"], PNG)
    now = clock.now()
    assert media.forget(now + media.LIFETIME - timedelta(minutes=1)) == 0
    assert media.forget(now + media.LIFETIME) == 1
    assert store().stat(fields["key"]) is None
