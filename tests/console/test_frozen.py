"""The console while the batch API is frozen: a banner on every page, no new work, results as ever."""

from uuid import uuid4

import pytest
from django.urls import reverse
from django.urls.converters import IntConverter, StringConverter, UUIDConverter

import accounts.urls
import billing.urls
from accounts.models import AuditEvent, Notice, Organization
from accounts.services import freezes
from anex.console import urls
from anex.core.actors import system
from inference.backends import registry
from tests.console import scenes
from tests.factories import staff_browser

BANNER = "frozen for maintenance"
_VALUES = {UUIDConverter: uuid4(), IntConverter: 1, StringConverter: "x"}
_OTHERS = ("invitation", "payment_webhook", "organization_new", "organization_switch")


@pytest.fixture
def frozen(db):
    freezes.switch(surface="batch", frozen=True, actor=system("tests"), reason="a migration")


@pytest.mark.parametrize("path", ["/dashboard", "/jobs", "/jobs/new", "/keys", "/credits", "/members"])
def test_every_page_says_so_while_it_lasts(ada, frozen, path):
    assert f"{BANNER}: a migration." in ada.get(path).content.decode()
    freezes.switch(surface="batch", frozen=False, actor=system("tests"), reason="done")
    assert BANNER not in ada.get(path).content.decode()


@pytest.mark.parametrize(
    ("surface", "told"),
    [
        ("realtime", "The realtime API is frozen for maintenance: a migration. The playground"),
        ("uploads", "Taking in files is frozen for maintenance: a migration. No file"),
        ("console", "The console is frozen for maintenance: a migration. Pages can be read"),
    ],
)
def test_each_surface_has_a_banner_of_its_own(ada, surface, told):
    freezes.switch(surface=surface, frozen=True, actor=system("tests"), reason="a migration")
    for path in ("/dashboard", "/playground", "/jobs/new"):
        html = ada.get(path).content.decode()
        assert told in html
        assert html.count(BANNER) == 1


def test_a_frozen_console_is_read_and_changes_nothing(ada, acme):
    job = scenes.quoted(acme)
    freezes.switch(surface="console", frozen=True, actor=system("tests"), reason="a migration")
    for path in ("/keys/new", "/jobs/new", "/jobs/new/upload", "/playground/key", f"/jobs/{job.pk}/approve"):
        page, script = ada.post(path, HTTP_ACCEPT="text/html,*/*"), ada.post(path, HTTP_ACCEPT="*/*")
        for answer in (page, script):
            assert (path, answer.status_code, answer["Retry-After"]) == (path, 503, "60")
        assert f"{BANNER}: a migration." in page.content.decode()
        assert f"{BANNER}: a migration." in script.json()["detail"]
    assert BANNER in ada.post("/organizations/new", {"name": "Globex"}).content.decode()
    job.refresh_from_db()
    assert (job.status, acme.keys.count(), Organization.objects.count()) == ("cost_ready", 0, 1)
    for path in ("/dashboard", f"/jobs/{job.pk}", "/keys", "/usage"):
        assert ada.get(path).status_code == 200
    freezes.switch(surface="console", frozen=False, actor=system("tests"), reason="done")
    assert ada.post(f"/jobs/{job.pk}/cancel").status_code == 302


def test_no_route_of_a_frozen_console_takes_a_form(ada):
    freezes.switch(surface="console", frozen=True, actor=system("tests"), reason="a migration")
    answers = {}
    # Accepting an invitation has a test of its own; a gateway's events are no form of a person.
    others = [each for each in (*accounts.urls.urlpatterns, *billing.urls.urlpatterns) if each.name not in _OTHERS]
    for pattern in (*urls.urlpatterns, *others):
        values = {name: _VALUES[type(kind)] for name, kind in pattern.pattern.converters.items()}
        answers[pattern.name] = ada.post(reverse(pattern.name, kwargs=values)).status_code
    taken = {name: status for name, status in answers.items() if status not in (405, 503)}
    # The colours of a browser are its own.
    assert taken == {"theme": 302}
    assert list(answers.values()).count(503) > 20


@pytest.mark.parametrize("verb", ["approve", "cancel", "delete"])
def test_no_job_is_moved(ada, acme, frozen, verb):
    job = scenes.quoted(acme)
    ada.post(f"/jobs/{job.pk}/{verb}")
    job.refresh_from_db()
    assert (job.status, job.deletion_asked_at) == ("cost_ready", None)


def test_no_file_is_taken(ada, frozen):
    answer = ada.post("/jobs/new/upload")
    assert answer.status_code == 503
    assert BANNER in answer.json()["detail"]


def test_a_result_is_downloaded(ada, acme, frozen):
    assert ada.get(f"/jobs/{scenes.done(acme, result_key='tests/result').pk}/result").status_code == 302


def test_staff_shows_a_notice_and_takes_it_down(ada):
    staff = staff_browser()
    told = {"text": "Maintenance <b>on Sunday</b>", "reason": "a migration"}
    assert staff.post(reverse("admin:accounts_notice_show_notice"), told).status_code == 302
    assert "Maintenance &lt;b&gt;on Sunday&lt;/b&gt;" in ada.get("/dashboard").content.decode()
    page = reverse("admin:accounts_notice_take_down", args=[Notice.objects.get().pk])
    assert staff.post(page, {"reason": "done"}).status_code == 302
    assert "Maintenance" not in ada.get("/dashboard").content.decode()
    events = AuditEvent.objects.filter(action__startswith="notice.").order_by("pk")
    assert list(events.values_list("action", "reason")) == [("notice.show", "a migration"), ("notice.end", "done")]


def test_a_model_that_is_switched_off_says_why_where_it_is_picked_and_awaited(ada, acme):
    job = scenes.quoted(acme)
    where = {"base_url": "http://10.0.0.5/v1", "served_name": "m", "actor": system("tests")}
    registry.configure(model_id=job.model_id, **where)
    pages = ("/jobs/new", "/playground", f"/jobs/{job.pk}", f"/models/{job.model_id}")
    assert not any("switched off" in ada.get(path).content.decode() for path in pages)
    registry.switch(enabled=False, model_id=job.model_id, off_reason="it <i>repeats</i> itself", actor=system("tests"))
    for path in pages:
        assert "switched off: it &lt;i&gt;repeats&lt;/i&gt; itself" in ada.get(path).content.decode(), path
    assert "is switched off: it" not in ada.get("/playground/embeddings").content.decode()
    assert "switched off |" in ada.get("/models.md").content.decode()


@pytest.mark.parametrize(("region", "offered"), [("world", False), ("eu", True)])
def test_a_job_that_is_estimated_is_stopped_where_that_is_possible(ada, acme, region, offered):
    job = scenes.job_with_steps(acme, "submitted", "estimating", region=region)
    assert (f"/jobs/{job.pk}/cancel" in ada.get(f"/jobs/{job.pk}").content.decode()) is offered


def test_a_job_says_why_its_model_is_switched_off(ada, acme):
    job = scenes.running(acme)
    where = {"base_url": "http://10.0.0.5/v1", "served_name": "m", "actor": system("tests")}
    registry.configure(model_id=job.model_id, **where)
    registry.switch(enabled=False, model_id=job.model_id, off_reason="it repeats itself", actor=system("tests"))
    assert "the model is switched off: it repeats itself" in ada.get(f"/jobs/{job.pk}").content.decode()
