"""The audit record: owners read, filter and export it; nobody else's events are in it."""

import csv
import io
from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEvent
from accounts.services import audit, organizations
from accounts.views import audit as page
from anex.core import clock
from anex.core.actors import Actor, system
from billing.services import corrections, grants
from jobs.services import inputs
from tests.factories import actor_of, add_member, grant_credits, make_key, make_organization, make_user
from tests.web import Web

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme():
    return make_organization("Acme")


@pytest.fixture
def owner(acme):
    client = Client()
    client.force_login(make_user("ada"))
    return client


def record(organization, action, actor=None, **fields):
    return audit.record(
        organization_id=organization.pk, actor=actor or actor_of(make_user("ada")), action=action, **fields
    )


def export(client, query=""):
    answer = client.get(f"/audit.csv{query}")
    assert answer.status_code == 200

    async def consume():
        return b"".join([part async for part in answer.streaming_content])

    return list(csv.DictReader(io.StringIO(async_to_sync(consume)().decode())))


def test_owner_sees_who_did_what_newest_first(acme, owner):
    key = make_key(acme, name="nightly")
    record(acme, "job.submitted", key.caller.actor, target="job-1", details={"model": "gemma4-12b"})
    organizations.suspend(organization_id=acme.pk, actor=Actor("staff", "7"), reason="unpaid invoice")
    html = owner.get("/audit").content.decode()
    shown = ["organization.suspend", "Anex", "unpaid invoice", "job.submitted", "key “nightly”", "model: gemma4-12b"]
    assert all(text in html for text in shown)
    rows = html.partition("<tbody>")[2]
    assert rows.index("organization.suspend") < rows.index("job.submitted") < rows.index("key.create")
    assert "staff:7" not in html


@pytest.mark.parametrize("role", ["admin", "member"])
@pytest.mark.parametrize("path", ["/audit", "/audit.csv"])
def test_only_owners_read_it(acme, role, path):
    client = Client()
    client.force_login(add_member(acme, "joan", role))
    assert client.get(path).status_code == 403


def test_events_of_another_organization_are_nowhere(acme, owner):
    globex = make_organization("Globex")
    key = make_key(globex, name="foreign key")
    record(globex, "job.foreign", key.caller.actor)
    html = owner.get("/audit").content.decode()
    assert "foreign" not in html
    assert "grace@example.com" not in html
    assert {row["action"] for row in export(owner)} == {"organization.create"}
    assert owner.get("/audit", {"action": "job.foreign"}).status_code == 400


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({"actor": "anex"}, {"organization.suspend"}),
        ({"action": "key.create"}, {"key.create"}),
        ({"actor": "anex", "action": "key.create"}, set()),
        ({"since": "2020-01-01", "until": "2020-12-31"}, set()),
        ({"since": "2020-01-01"}, {"organization.create", "key.create", "organization.suspend"}),
    ],
)
def test_filters_narrow_the_page_and_the_export_alike(acme, owner, query, shown):
    make_key(acme)
    organizations.suspend(organization_id=acme.pk, actor=Actor("staff", "7"), reason="unpaid")
    answer = owner.get("/audit", query)
    assert answer.status_code == 200
    assert {entry.action for entry, _ in answer.context["entries"]} == shown
    assert {row["action"] for row in export(owner, f"?{answer.context['query']}")} == shown


def test_filter_by_a_key_shows_what_it_did(acme, owner):
    key = make_key(acme)
    record(acme, "job.approved", key.caller.actor)
    answer = owner.get("/audit", {"actor": f"key:{key.caller.key_id}"})
    assert [entry.action for entry, _ in answer.context["entries"]] == ["job.approved"]


def test_day_filter_takes_whole_days_in_utc(acme, owner):
    today = clock.now().date()
    record(acme, "today")
    for query, found in (
        ({"since": today, "until": today}, True),
        ({"until": today - timedelta(days=1)}, False),
        ({"since": today + timedelta(days=1)}, False),
    ):
        assert ("today" in {entry.action for entry, _ in owner.get("/audit", query).context["entries"]}) is found


@pytest.mark.parametrize("query", [{"actor": "user:999"}, {"since": "yesterday"}, {"action": "nothing"}])
def test_filter_that_makes_no_sense_is_named_in_the_form(acme, owner, query):
    answer = owner.get("/audit", query)
    assert answer.status_code == 400
    assert "text-error" in answer.content.decode()


def test_pages_follow_one_another_without_a_gap(acme, owner, monkeypatch):
    monkeypatch.setattr(page, "SHOWN", 3)
    for number in range(7):
        record(acme, f"step.{number}")
    seen, query = [], ""
    while True:
        answer = owner.get(f"/audit?{query}")
        seen += [entry.action for entry, _ in answer.context["entries"]]
        query = answer.context["older"]
        if not query:
            break
    assert seen == [f"step.{number}" for number in reversed(range(7))] + ["organization.create"]


@pytest.mark.parametrize("before", ["x", "-1", "9" * 30, "٣"])
def test_broken_page_mark_shows_the_newest(acme, owner, before):
    assert owner.get("/audit", {"before": before}).status_code == 200


def test_export_reads_batches_and_holds_every_event(acme, owner, monkeypatch):
    monkeypatch.setattr(page, "BATCH", 10)
    for number in range(45):
        record(acme, f"step.{number}", details={"n": number})
    with CaptureQueriesContext(
        connection,
    ) as queries:
        rows = export(owner)
    assert [row["action"] for row in rows][::-1] == ["organization.create"] + [f"step.{n}" for n in range(45)]
    assert rows[0]["details"] == '{"n": 44}'
    assert rows[0]["actor"] == "ada@example.com"
    events = [
        query["sql"] for query in queries if 'FROM "accounts_auditevent"' in query["sql"] and "LIMIT" in query["sql"]
    ]
    assert len(events) == 6


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", '=HYPERLINK("http://x","y")'])
def test_text_that_a_spreadsheet_would_run_is_defused(acme, owner, text):
    record(acme, "test", reason=text)
    assert export(owner, "?action=test")[0]["reason"] == f"'{text}"


def test_quotes_commas_and_line_breaks_survive_the_export(acme, owner):
    said = 'He said "a, b"\nand left; ünïcode'
    record(acme, "test", reason=said)
    assert export(owner, "?action=test")[0]["reason"] == said


def test_staff_money_and_work_of_people_are_recorded(acme, tmp_path, settings):
    settings.ANEX_STORAGE_DIR = tmp_path
    staff = Actor("staff", "7")
    grants.give(organization_id=acme.pk, cents=500, reason="welcome", source="grant:1", actor=staff)
    grants.give(organization_id=acme.pk, cents=500, reason="welcome", source="grant:1", actor=staff)
    corrections.adjust(organization_id=acme.pk, cents=-100, reason="typo", source="correction:1", actor=staff)
    inputs.create_upload(organization_id=acme.pk, format="jsonl", actor=actor_of(make_user("ada")))
    found = AuditEvent.objects.filter(organization=acme).exclude(action="organization.create").order_by("pk")
    assert [event.action for event in found] == ["credits.grant", "credits.correct", "input.create"]
    assert "welcome" in found[0].reason
    assert "typo" in found[1].reason


def test_platform_events_without_an_organization_stay_with_staff(acme, owner):
    grant_credits(acme)
    audit.record(organization_id=None, actor=system("sweep"), action="nobody's")
    assert "nobody&#x27;s" not in owner.get("/audit").content.decode()


@pytest.mark.django_db(transaction=True)
def test_web_server_streams_the_whole_record(acme, owner, tmp_path):
    for number in range(2 * page.BATCH + 1):
        record(acme, f"step.{number}")
    web = Web(tmp_path / "web.log")
    try:
        web.wait()
        status, body = web.get("/audit.csv", Cookie=f"anex_session={owner.cookies['anex_session'].value}")
    finally:
        web.stop()
    lines = body.decode().splitlines()
    assert status == 200
    assert len(lines) == 1 + 2 * page.BATCH + 1 + 1
    assert "organization.create" in lines[-1]
    assert "Warning" not in (tmp_path / "web.log").read_text()


def test_details_read_as_words_and_dollars(acme, owner):
    record(acme, "key.create", details={"scopes": ["batch:read", "batch:write"], "daily_ceiling_cents": None})
    record(acme, "credits.topup", details={"cents": 2000})
    record(acme, "webhook.rotate", details={"former_signs_until": "2026-11-30T23:20:36.693566+00:00"})
    record(acme, "organization.auto_approve", details={"enabled": True, "max_job_cents": 150, "models": []})
    html = owner.get("/audit").content.decode()
    shown = ["scopes: batch:read, batch:write", "daily ceiling: –", "amount: $20.00", "enabled: yes", "max job: $1.50"]
    assert all(text in html for text in [*shown, "models: none", "former signs until: 2026-11-30 23:20 UTC"])
