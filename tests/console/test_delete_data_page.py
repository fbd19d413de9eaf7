"""The page that asks before a job's data is deleted, and names what is lost."""

import pytest

from accounts.services import organizations
from anex.core.actors import Actor
from jobs.models import Job
from jobs.storage import store
from tests.console import scenes
from tests.factories import make_organization


@pytest.fixture(autouse=True)
def _own_store(settings, tmp_path):
    settings.ANEX_STORAGE_DIR = tmp_path


def text_of(browser, job: Job, tail: str = "") -> str:
    return browser.get(f"/jobs/{job.pk}{tail}").content.decode()


def test_the_page_names_what_is_lost_and_deletes_nothing(ada, acme):
    job = scenes.done(acme, result_key="tests/result")
    store().put(job.input.key, b"rows\n")
    html = text_of(ada, job, "/delete")
    for named in ("1,200 rows", "the input file", "response format", "Download the result first", "Nothing brings"):
        assert named in html
    assert "stopped first" not in html
    assert store().stat(job.input.key)
    assert f'href="/jobs/{job.pk}/delete"' in text_of(ada, job)


def test_deleting_ends_on_the_page_of_the_job_without_a_download(ada, acme):
    job = scenes.done(acme, result_key="tests/result")
    store().put(job.input.key, b"rows\n")
    html = ada.post(f"/jobs/{job.pk}/delete", follow=True).content.decode()
    assert "The data is deleted." in html
    assert "Download result" not in html
    assert "Delete data" not in html
    assert store().stat(job.input.key) is None


def test_a_job_that_is_not_over_is_said_to_be_stopped_first(ada, acme):
    job = scenes.quoted(acme)
    assert "stopped first" in text_of(ada, job, "/delete")
    assert "its data goes with it" in ada.post(f"/jobs/{job.pk}/delete", follow=True).content.decode()
    job.refresh_from_db()
    assert (job.status, job.data_deleted_at is not None) == ("cancelled", True)


def test_other_jobs_on_the_file_are_counted(ada, acme):
    job = scenes.done(acme)
    scenes.quoted(acme, input=job.input)
    assert "1 other job on it is over" in text_of(ada, job, "/delete")


def test_a_suspended_organization_may_still_delete(ada, acme):
    job = scenes.done(acme)
    organizations.suspend(organization_id=acme.pk, actor=Actor("staff", "1"), reason="unpaid")
    assert ada.post(f"/jobs/{job.pk}/delete").status_code == 302
    assert Job.objects.get(pk=job.pk).data_deleted_at is not None


def test_a_foreign_job_is_not_found_and_stays(ada):
    foreign = scenes.done(make_organization("Globex"))
    assert ada.get(f"/jobs/{foreign.pk}/delete").status_code == 404
    assert ada.post(f"/jobs/{foreign.pk}/delete").status_code == 404
    foreign.refresh_from_db()
    assert foreign.deletion_asked_at is None
