"""The console while the batch API is frozen: a banner on every page, no new work, results as ever."""

import pytest
from django.urls import reverse

from accounts.models import AuditEvent, Notice
from accounts.services import freezes
from anex.core.actors import system
from inference.backends import registry
from tests.console import scenes
from tests.factories import staff_browser

BANNER = "frozen for maintenance"


@pytest.fixture
def frozen(db):
    freezes.switch(surface="batch", frozen=True, actor=system("tests"), reason="a migration")


@pytest.mark.parametrize("path", ["/dashboard", "/jobs", "/jobs/new", "/keys", "/credits", "/members"])
def test_every_page_says_so_while_it_lasts(ada, frozen, path):
    assert f"{BANNER}: a migration." in ada.get(path).content.decode()
    freezes.switch(surface="batch", frozen=False, actor=system("tests"), reason="done")
    assert BANNER not in ada.get(path).content.decode()


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


def test_a_job_says_why_its_model_is_switched_off(ada, acme):
    job = scenes.running(acme)
    where = {"base_url": "http://10.0.0.5/v1", "served_name": "m", "actor": system("tests")}
    registry.configure(model_id=job.model_id, **where)
    registry.switch(enabled=False, model_id=job.model_id, off_reason="it repeats itself", actor=system("tests"))
    assert "the model is switched off: it repeats itself" in ada.get(f"/jobs/{job.pk}").content.decode()
