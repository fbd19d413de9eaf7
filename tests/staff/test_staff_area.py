import re

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import ApiKey, AuditEvent
from accounts.services import keys
from anex.core import clock
from anex.core.errors import Forbidden, Unauthenticated
from inference.backends import registry
from inference.models import Backend
from jobs.models import FileUpload, Job, WebhookEndpoint
from tests.console import scenes
from tests.factories import grant_credits, make_key, make_organization, make_user, staff_browser
from tests.jobs import batches

pytestmark = pytest.mark.django_db


@pytest.fixture
def root():
    """A browser in which a superuser is signed in."""
    return staff_browser()


@pytest.fixture
def acme():
    return make_organization("Acme")


@pytest.fixture
def server():
    return Backend.objects.create(
        model_id=scenes.MODEL, base_url="http://127.0.0.1:9/v1", served_name="small", source="configured"
    )


def act(browser, model, pk, verb, reason="agreed by phone"):
    return browser.post(f"/admin/{model}/{pk}/{verb}/", {"reason": reason}, follow=True)


def test_every_page_of_the_staff_area_opens(root, acme, server):
    make_key(acme)
    scenes.delivery(scenes.endpoint(acme), job=batches.make(scenes.done(acme)))
    FileUpload.objects.create(organization=acme, region="world", lapses_at=clock.now())
    for model in admin.site._registry:
        answer = root.get(f"/admin/{model._meta.app_label}/{model._meta.model_name}/")
        assert answer.status_code == 200, model
        first = model.objects.first()
        if first is not None:
            page = root.get(f"/admin/{model._meta.app_label}/{model._meta.model_name}/{first.pk}/change/")
            assert page.status_code == 200, model


def test_every_list_has_a_name_in_words(root):
    names = {str(model._meta.verbose_name_plural) for model in admin.site._registry}
    assert {name for name in names if re.search(r"[^aeiou]ys\b|\bapi\b|topup", name)} == set()


def test_no_list_asks_the_database_once_per_row(root, acme, server):
    def fill(organization):
        for _ in range(3):
            make_key(organization)
            grant_credits(organization, 500)
            scenes.delivery(scenes.endpoint(organization), job=batches.make(scenes.running(organization)))
            FileUpload.objects.create(organization=organization, region="world", lapses_at=clock.now())

    def queries():
        found = {}
        for model in admin.site._registry:
            with CaptureQueriesContext(connection) as asked:
                root.get(f"/admin/{model._meta.app_label}/{model._meta.model_name}/")
            found[model.__name__] = len(asked)
        return found

    fill(acme)
    queries()
    before = queries()
    fill(make_organization("Globex"))
    assert queries() == before
    assert max(before.values()) <= 20


def test_batches_and_files_are_found_by_the_ids_that_clients_know(root, acme):
    batch, other = (batches.make(scenes.running(acme)) for _ in range(2))
    assert "/admin/jobs/batch/" in (home := root.get("/admin/").content.decode())
    assert "/admin/jobs/file/" in home
    wire_ids = {"batch": f"batch_{batch.pk.hex}", "file": f"file-{batch.input.file.pk.hex}"}
    for searched, page, shown in (
        ("batch", "batch", "batch"),
        ("file", "batch", "batch"),
        ("file", "file", "file"),
        ("batch", "job", None),
    ):
        answer = root.get(f"/admin/jobs/{page}/", {"q": wire_ids[searched]})
        assert answer.context["cl"].result_count == 1, (searched, page)
        assert shown is None or wire_ids[shown] in answer.content.decode()
    html = root.get("/admin/jobs/batch/").content.decode()
    assert "Batchs" not in html
    assert html.count(scenes.MODEL) >= 2
    assert str(other.pk) not in re.sub(r"href=\S+|value=\S+", "", html)
    page = root.get(f"/admin/jobs/batch/{batch.pk}/change/").content.decode()
    assert scenes.MODEL in page
    assert "+00:00" not in page


def test_nothing_can_be_added_edited_or_deleted_by_hand(root, acme):
    for model, page in admin.site._registry.items():
        request = root.get("/admin/").wsgi_request
        assert not page.has_add_permission(request), model
        assert not page.has_change_permission(request), model
        assert not page.has_delete_permission(request), model
    answer = root.post(f"/admin/accounts/organization/{acme.pk}/change/", {"name": "Renamed"})
    assert answer.status_code == 403


def test_the_form_of_an_action_names_what_it_is_about(root, acme):
    html = root.get(f"/admin/accounts/organization/{acme.pk}/suspend/").content.decode()
    assert f"Suspend: {acme.name}" in html


def test_the_first_page_leads_to_every_section(root):
    html = root.get("/admin/").content.decode()
    assert html.count('href="/admin/billing/account/"') == 2


def test_the_first_page_says_what_waits_and_what_failed_and_leads_to_it(root, acme, server):
    scenes.quoted(acme)
    broken = scenes.failed(acme)
    Job.objects.filter(pk=broken.pk).update(failure_code="internal_error")
    act(root, "accounts/freeze", "batch", "freeze")
    act(root, "inference/backend", server.pk, "off", "new driver")
    scenes.running(acme)
    sections = root.get("/admin/").context["sections"]
    told = {fact.label: fact for facts in sections.values() for fact in facts}
    assert (told["Frozen APIs"].value, told["Switched off"].value) == ("batch", scenes.MODEL)
    assert told["Running jobs without a server"].value == scenes.MODEL
    assert told["Jobs that failed by our fault, 24 h"].is_urgent
    assert told["Jobs that wait for approval"].value == "1"
    for fact in told.values():
        listed = root.get(fact.link)
        assert listed.status_code == 200, fact
        if fact.value == "1" and fact.label.startswith("Jobs"):
            assert listed.context["cl"].result_count == 1, fact


def test_the_first_page_tells_a_person_what_they_may_look_into(acme):
    clerk = staff_browser("clerk", is_superuser=False)
    assert clerk.get("/admin/").context["sections"] == {}
    make_user("clerk").user_permissions.add(Permission.objects.get(codename="view_job"))
    assert list(clerk.get("/admin/").context["sections"]) == ["Work"]


def test_the_page_of_an_organization_leads_to_all_that_it_has(root, acme):
    grant_credits(acme, 500)
    grant_credits(make_organization("Globex"), 700)
    make_key(acme)
    scenes.running(acme)
    page = root.get(f"/admin/accounts/organization/{acme.pk}/change/")
    assert "$5.00 available" in page.content.decode()
    facts = page.context["facts"]
    assert len(facts) >= 11
    for fact in facts:
        answer = root.get(fact.link)
        assert answer.status_code == 200, fact
        assert fact.page != "changelist" or "Globex" not in answer.content.decode(), fact
    clerk = staff_browser("clerk", is_superuser=False)
    make_user("clerk").user_permissions.add(Permission.objects.get(codename="view_organization"))
    assert clerk.get(f"/admin/accounts/organization/{acme.pk}/change/").context["facts"] == []


def test_price_cards_are_read_and_tell_what_is_in_force(root, operator):
    prices = operator.path / "prices"
    prices.mkdir()
    card = "- model: acme\n  starts_at: {}-01-01T00:00:00Z\n  text: {{input: {}, output: 0}}\n"
    (prices / "acme.yaml").write_text(card.format(2025, 1) + card.format(2026, 33_500_000) + card.format(2999, 3))
    html = root.get("/admin/billing/account/prices/").content.decode()
    rows = [[cell.strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)] for row in html.split("<tr")]
    acme = [row for row in rows if row and row[0] == "acme"]
    assert [row[1] for row in acme] == ["to come", "in force", "past"]
    assert "$0.0335 in" in acme[1][3]
    clerk = staff_browser("clerk", is_superuser=False)
    assert clerk.get("/admin/billing/account/prices/").status_code == 403


def test_a_model_is_switched_off_as_a_whole_and_recorded(root, server):
    Backend.objects.create(
        model_id=scenes.MODEL, base_url="http://127.0.0.1:8/v1", served_name="x", source="configured"
    )
    path = "/admin/inference/backend/model/"
    assert "This field is required" in root.post(path, {"model": scenes.MODEL, "state": "off"}).content.decode()
    root.post(path, {"model": scenes.MODEL, "state": "off", "reason": "new weights"})
    assert registry.standing("world").off == {scenes.MODEL: "new weights"}
    root.post(path, {"model": scenes.MODEL, "state": "on", "reason": "they are in"})
    assert len(registry.live("world")) == 2
    events = AuditEvent.objects.filter(target=scenes.MODEL).order_by("pk").values_list("action", "reason")
    assert list(events) == [("backend.switch_off", "new weights"), ("backend.switch_on", "they are in")]


def test_jobs_and_deliveries_are_moved_on_by_hand(root, acme):
    job = scenes.running(acme)
    act(root, "jobs/job", job.pk, "requeue", "its worker hangs")
    delivery = scenes.delivery(scenes.endpoint(acme), job=job)
    act(root, "jobs/webhookdelivery", delivery.pk, "resend", "they were down")
    delivery.refresh_from_db()
    assert delivery.state == "pending"
    act(root, "jobs/job", job.pk, "fail", "a broken disk")
    assert Job.objects.get(pk=job.pk).status == "finalizing"
    assert "too late" in act(root, "jobs/job", job.pk, "fail").content.decode()
    reasons = AuditEvent.objects.filter(actor_kind="staff").exclude(reason="").order_by("pk")
    assert list(reasons.values_list("action", flat=True)) == [
        *("job.staff_requeue", "webhook.resend", "job.staff_fail"),
    ]


def test_suspending_and_resuming_reach_the_keys_and_are_audited(root, acme):
    key = make_key(acme)
    act(root, "accounts/organization", acme.pk, "suspend", "unpaid invoice")
    with pytest.raises(Forbidden):
        keys.authenticate(key.header)
    act(root, "accounts/organization", acme.pk, "resume", "paid")
    assert keys.authenticate(key.header) == key.caller
    staff = str(make_user("root").pk)
    events = AuditEvent.objects.filter(actor_kind="staff", actor_id=staff).order_by("pk")
    assert [(event.action, event.reason) for event in events] == [
        ("organization.suspend", "unpaid invoice"),
        ("organization.resume", "paid"),
    ]


def test_in_flight_limit_is_set_with_a_reason(root, acme):
    path = f"/admin/accounts/organization/{acme.pk}/limit/"
    root.post(path, {"reason": "launch week", "limit": "500"})
    acme.refresh_from_db()
    assert acme.in_flight_limit == 500
    assert "Enter a whole number" in root.post(path, {"reason": "x", "limit": "1e9"}).content.decode()
    assert AuditEvent.objects.get(action="organization.limit").reason == "launch week"


def test_action_without_a_reason_changes_nothing(root, acme):
    answer = act(root, "accounts/organization", acme.pk, "suspend", "  ")
    assert "This field is required" in answer.content.decode()
    acme.refresh_from_db()
    assert acme.suspended_at is None


def test_refusal_of_a_service_is_shown_on_the_form(root, acme):
    assert "is not suspended" in act(root, "accounts/organization", acme.pk, "resume").content.decode()


def test_revoking_a_key_is_audited_with_its_reason(root, acme):
    key = make_key(acme)
    act(root, "accounts/apikey", key.caller.key_id, "revoke", "found in a public repository")
    with pytest.raises(Unauthenticated):
        keys.authenticate(key.header)
    assert AuditEvent.objects.get(action="key.revoke").reason == "found in a public repository"


def test_key_page_shows_neither_secret_nor_hash(root, acme):
    key = make_key(acme)
    html = root.get(f"/admin/accounts/apikey/{key.caller.key_id}/change/").content.decode()
    assert key.secret[15:-4] not in html
    assert bytes(ApiKey.objects.get().secret_sha256).hex() not in html
    assert "sha256" not in html


@pytest.mark.parametrize("page", ["", "{}/change/"])
def test_pages_of_an_endpoint_show_its_host_and_no_secret(root, acme, page):
    endpoint = scenes.endpoint(acme)
    WebhookEndpoint.objects.update(url="https://hooks.example.com:8443/services/T0K3N?token=T0K3N")
    html = root.get(f"/admin/jobs/webhookendpoint/{page.format(endpoint.pk)}").content.decode()
    assert "hooks.example.com:8443" in html
    for secret in (endpoint.sealed_secret, "sealed", "T0K3N"):
        assert secret not in html


def test_cancelling_a_job_is_audited_with_its_reason(root, acme):
    job = scenes.quoted(acme)
    act(root, "jobs/job", job.pk, "cancel", "asked by the customer")
    assert Job.objects.get(pk=job.pk).status == "cancelled"
    event = AuditEvent.objects.get(target=str(job.pk))
    assert event.action == "job.cancelled"
    assert (event.target, event.reason, event.organization_id) == (str(job.pk), "asked by the customer", acme.pk)


def test_switching_a_model_server_off_and_on_is_kept_in_its_history(root, server):
    act(root, "inference/backend", server.pk, "off", "new driver")
    assert registry.live("world") == []
    act(root, "inference/backend", server.pk, "on", "driver is in")
    assert [live.id for live in registry.live("world")] == [server.pk]
    history = root.get(f"/admin/inference/backend/{server.pk}/history/").content.decode()
    assert history.index("Switch off: new driver") != history.index("Switch on: driver is in")


@pytest.mark.parametrize("pk", ["00000000-0000-0000-0000-000000000000", "nonsense"])
def test_action_on_nothing_is_not_found(root, pk):
    assert act(root, "accounts/organization", pk, "suspend").status_code == 404


def test_staff_without_the_permission_cannot_act(acme):
    client = staff_browser("clerk", is_superuser=False)
    assert client.post(f"/admin/accounts/organization/{acme.pk}/suspend/", {"reason": "x"}).status_code == 403


def test_people_who_are_not_staff_are_sent_to_sign_in(acme):
    client = Client()
    client.force_login(make_user("ada"))
    assert client.get("/admin/accounts/organization/").status_code == 302


def test_system_checks_need_no_table(django_assert_num_queries):
    with django_assert_num_queries(0):
        call_command("check")
