"""The pages of webhooks: secrets shown once, the log, what can be asked for by hand."""

import base64
import json
import os
import re
import shutil
from datetime import timedelta
from html import unescape
from subprocess import run

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from standardwebhooks import Webhook

from anex.core import clock, safe_http
from jobs import storage
from jobs.models import WebhookAttempt, WebhookDelivery, WebhookEndpoint
from tests.console import scenes
from tests.factories import add_member, make_organization
from tests.jobs.webhooks.driver import deliver_due

SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]{44}")


@pytest.fixture
def receiver(https_server, https_rules, monkeypatch):
    monkeypatch.setattr(safe_http, "PUBLIC", https_rules)
    https_server.answer("/hook", 200, b"<b>taken</b>")
    return https_server


@pytest.fixture
def endpoint(acme):
    return scenes.endpoint(acme, description="Orders")


def html(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def test_new_endpoint_shows_its_secret_once(ada, receiver):
    answer = ada.post("/webhooks/new", {"url": receiver.url("/hook"), "events": ["failed"], "description": "Orders"})
    shown = set(SECRET.findall(answer.content.decode().replace("&#x3D;", "=").replace("&#x2B;", "+")))
    assert (answer.status_code, len(shown)) == (201, 1)
    assert "no-store" in answer["Cache-Control"]
    endpoint = WebhookEndpoint.objects.get()
    for path in ("/webhooks", f"/webhooks/{endpoint.pk}", f"/webhooks/{endpoint.pk}/edit"):
        page = html(ada, path)
        assert "Orders" in page
        assert not SECRET.search(page)
    assert ada.get("/webhooks/new").status_code == 302


@pytest.mark.parametrize("url", ["http://example.com/hook", "https://127.0.0.1/hook", "https://localhost/", "nonsense"])
def test_refused_address_is_explained_and_kept_in_the_form(ada, url):
    answer = ada.post("/webhooks/new", {"url": url})
    assert answer.status_code == 400
    assert url in answer.content.decode()
    assert not WebhookEndpoint.objects.exists()


def test_full_list_has_no_form_and_refuses_another(ada, acme, receiver):
    for _ in range(10):
        scenes.endpoint(acme)
    assert "Add endpoint" not in html(ada, "/webhooks")
    answer = ada.post("/webhooks/new", {"url": receiver.url("/hook")})
    assert answer.status_code == 400


def test_rotation_shows_the_new_secret_once_and_the_overlap(ada, endpoint):
    answer = ada.post(f"/webhooks/{endpoint.pk}/rotate")
    assert "no-store" in answer["Cache-Control"]
    assert "whsec_" in answer.content.decode()
    page = html(ada, f"/webhooks/{endpoint.pk}")
    assert "the former one signs too until" in page
    ada.post(f"/webhooks/{endpoint.pk}/end-overlap")
    assert "the former one signs too until" not in html(ada, f"/webhooks/{endpoint.pk}")


def test_endpoint_can_be_changed(ada, endpoint):
    ada.post(f"/webhooks/{endpoint.pk}/edit", {"url": endpoint.url, "events": ["failed", "completed"]})
    endpoint.refresh_from_db()
    assert (endpoint.events, endpoint.description) == (["completed", "failed"], "")
    assert "completed, failed" in html(ada, "/webhooks")
    assert ada.post(f"/webhooks/{endpoint.pk}/edit", {"url": "http://x.example"}).status_code == 400


def test_endpoint_is_switched_and_deleted(ada, endpoint):
    assert ada.post(f"/webhooks/{endpoint.pk}/disable").status_code == 302
    page = html(ada, f"/webhooks/{endpoint.pk}")
    assert "switched off by hand" in page
    assert "Send a test" not in page
    ada.post(f"/webhooks/{endpoint.pk}/enable")
    assert "Enabled" in html(ada, f"/webhooks/{endpoint.pk}")
    ada.post(f"/webhooks/{endpoint.pk}/delete")
    assert ada.get(f"/webhooks/{endpoint.pk}").status_code == 404
    assert "Add your first endpoint" in html(ada, "/webhooks")


def test_test_is_sent_and_its_answer_shown_escaped(ada, acme, receiver):
    endpoint = scenes.endpoint(acme, receiver.url("/hook"))
    sent = ada.post(f"/webhooks/{endpoint.pk}/test")
    assert "Not sent yet" in html(ada, sent["Location"])
    deliver_due()
    page = html(ada, sent["Location"])
    assert "HTTP 200" in page
    assert "&lt;b&gt;taken&lt;/b&gt;" in page


def test_resend_keeps_the_id(ada, acme, receiver):
    delivery = scenes.delivery(scenes.endpoint(acme, receiver.url("/hook")), type="test")
    answer = ada.post(f"/webhooks/deliveries/{delivery.pk}/resend")
    assert answer["Location"] == f"/webhooks/deliveries/{delivery.pk}"
    deliver_due()
    assert receiver.requests[0].headers["webhook-id"] == str(delivery.event_id)
    assert WebhookDelivery.objects.get().attempts == 3


def test_answer_that_was_deleted_leaves_its_attempt(ada, endpoint):
    delivery = scenes.delivery(endpoint)
    WebhookAttempt.objects.update(answer_key="tests/gone")
    assert "HTTP 500" in html(ada, f"/webhooks/deliveries/{delivery.pk}")
    storage.store().put("tests/gone", b"\xff\x00 no text")
    assert "HTTP 500" in html(ada, f"/webhooks/deliveries/{delivery.pk}")


def test_log_is_filtered_by_state_event_and_job(ada, acme, endpoint):
    job = scenes.done(acme)
    wanted = scenes.delivery(endpoint, job=job)
    other = scenes.delivery(endpoint, type="submitted", state="failed")
    for query, shown, hidden in [
        ("state=delivered", wanted, other),
        ("type=submitted", other, wanted),
        (f"job_id={job.pk}", wanted, other),
    ]:
        page = html(ada, f"/webhooks/{endpoint.pk}?{query}")
        assert str(shown.event_id) in page
        assert str(hidden.event_id) not in page
    assert ada.get(f"/webhooks/{endpoint.pk}?job_id=nonsense").status_code == 400
    assert "Nothing matches" in html(ada, f"/webhooks/{endpoint.pk}?state=cancelled")


def test_log_is_read_page_by_page(ada, endpoint):
    made = [str(scenes.delivery(endpoint, type="submitted", statuses=()).pk) for _ in range(52)]
    scenes.delivery(endpoint, type="submitted", state="failed")
    path = f"/webhooks/{endpoint.pk}?state=delivered"
    with CaptureQueriesContext(connection) as captured:
        first = ada.get(path).context
    second = ada.get(f"/webhooks/{endpoint.pk}?{first['older']}").context
    assert [str(shown.pk) for shown in (*first["deliveries"], *second["deliveries"])] == made[::-1]
    assert (second["older"], len(captured) <= 14) == ("", True)
    assert ada.get(f"/webhooks/{endpoint.pk}?before=x").status_code == 200


def test_rows_that_move_are_asked_for_again_until_they_rest(ada, endpoint):
    moving = scenes.delivery(endpoint, state="pending", statuses=())
    for path in (f"/webhooks/{endpoint.pk}", f"/webhooks/deliveries/{moving.pk}"):
        part = ada.get(path, headers={"HX-Request": "true"}).content.decode()
        assert f'hx-get="{path}"' in part
        assert "<html" not in part
    WebhookDelivery.objects.update(state="delivered")
    for path in (f"/webhooks/{endpoint.pk}", f"/webhooks/deliveries/{moving.pk}"):
        assert "hx-get" not in html(ada, path)


@pytest.mark.parametrize("language", ["node", "shell"])
def test_samples_accept_what_is_signed_and_nothing_else(ada, tmp_path, language):
    page = html(ada, "/webhooks")
    sample = unescape(re.search(f'<pre id="verify-{language}".*?>(.*?)</pre>', page, re.DOTALL)[1])
    secret, body, now = "whsec_" + base64.b64encode(b"k" * 32).decode(), b'{"type": "test"}', clock.now()
    signature = Webhook(secret).sign("id-1", now, body.decode())
    stamp = str(int(now.timestamp()))
    (tmp_path / "body.json").write_bytes(body)
    if language == "shell":
        told = {"SECRET": secret, "ID": "id-1", "TIMESTAMP": stamp}
        command = ["bash", "-ec", sample]
        verdict = run(command, cwd=tmp_path, env=os.environ | told, capture_output=True, text=True, check=True).stdout
        assert f"v1,{verdict.strip()}" == signature
        return
    headers = {"webhook-id": "id-1", "webhook-timestamp": stamp, "webhook-signature": f"v1,bm8= {signature}"}
    calls = "".join(
        f"console.log(verify({json.dumps(secret)}, {json.dumps(headers | other)}, {json.dumps(text)}));"
        for other, text in [({}, body.decode()), ({}, "{}"), ({"webhook-timestamp": "1"}, body.decode())]
    )
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    (tmp_path / "sample.mjs").write_text(sample + "\n" + calls)
    verdicts = run(["node", "sample.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert verdicts.split() == ["true", "false", "false"]


def test_failing_endpoint_says_so(ada, endpoint):
    endpoint.failing_since = clock.now() - timedelta(hours=1)
    endpoint.save()
    assert "Failing" in html(ada, "/webhooks")


def test_members_find_no_link_and_foreign_endpoints_are_not_listed(ada, acme):
    scenes.endpoint(make_organization("Globex"), "https://globex.example.com/hook")
    assert "globex.example.com" not in html(ada, "/webhooks")
    member = Client()
    member.force_login(add_member(acme, "joan"))
    assert "/webhooks" not in html(member, "/dashboard")
    assert "/webhooks" in html(ada, "/dashboard")
