"""The rows of a job in the browser: who sees them, how they are found, and what is said once they are deleted."""

from uuid import uuid4

import pytest

from anex.core import clock
from jobs.models import Job
from jobs.run import browsing
from tests.console import scenes
from tests.factories import make_organization
from tests.jobs.run.test_browsing import a_job, failed, said


@pytest.fixture
def job(acme):
    rows = {row: said(row, f"answer {row} <b>bold</b>") for row in range(9)} | {9: failed(9)}
    over = {"status": "done", "finished_at": clock.now(), "approved_at": clock.now()}
    over |= {"success_rows": 9, "error_rows": 1}
    return a_job(acme, [rows], **over)


def page_of(browser, job, tail="", **query):
    return browser.get(f"/jobs/{job.pk}/results{tail}", query).content.decode()


def test_rows_are_shown_with_how_they_ended(ada, job):
    html = page_of(ada, job)
    assert "answer 8 &lt;b&gt;bold" in html
    assert "The server did not answer." in html
    assert (html.count(">Answered<"), html.count(">Failed<")) == (9, 1)
    assert "That was the last row." in html
    assert "never ran" not in html


def test_rows_that_never_ran_are_counted(ada, job):
    Job.objects.filter(pk=job.pk).update(row_count=12, status="cancelled")
    assert "2 rows never ran and are not listed." in page_of(ada, job)


def test_only_what_failed_or_what_is_named(ada, job):
    html = page_of(ada, job, failed="1")
    assert (">Answered<" in html, "row-9" in html) == (False, True)
    html = page_of(ada, job, id="row-3")
    assert html.count('class="font-mono text-sm" href="/jobs/') == 1
    assert "No row with a custom_id that begins so" in page_of(ada, job, id="<nobody>")


def test_pages_follow_each_other(ada, job, monkeypatch):
    monkeypatch.setattr(browsing, "PAGE_ROWS", 4)
    assert f"/jobs/{job.pk}/results?after=4" in page_of(ada, job)
    assert "That was the last row." in page_of(ada, job, after="8")
    for nonsense in ("-1", "x", "9" * 30):
        assert ada.get(f"/jobs/{job.pk}/results", {"after": nonsense}).status_code == 200


def test_a_long_search_goes_on_by_itself_and_says_how_far_it_is(ada, job, monkeypatch):
    monkeypatch.setattr(browsing, "OBJECTS_AT_ONCE", 1)
    html = page_of(ada, job, id="row-9")
    assert "Looked through 5 of 10 rows." in html
    assert f'hx-get="/jobs/{job.pk}/results?id=row-9&amp;after=5" hx-trigger="load"' in html
    answer = ada.get(f"/jobs/{job.pk}/results", {"id": "row-9", "after": "5"}, headers={"HX-Request": "true"})
    html = answer.content.decode()
    assert ("<html" in html, "The server did not answer." in html, "hx-trigger" in html) == (False, True, False)


def test_one_row_has_its_question_its_answer_and_its_neighbours(ada, job):
    html = page_of(ada, job, "/4")
    for told in ("Row 5", "row-4", "answer 4 &lt;b&gt;bold", "&quot;n&quot;: 4", "/results/3", "/results/5"):
        assert told in html
    assert "/results/10" not in page_of(ada, job, "/9")
    for number in (10, 10**12):
        assert ada.get(f"/jobs/{job.pk}/results/{number}").status_code == 404


def test_page_costs_the_same_few_queries_however_many_rows(ada, job, acme, django_assert_max_num_queries):
    for one in (job, a_job(acme, [{0: said(0, "x")}])):
        with django_assert_max_num_queries(10):
            page_of(ada, one)


@pytest.mark.parametrize("tail", ["", "/0"])
def test_deleted_rows_are_410_and_the_page_says_when(ada, job, tail):
    Job.objects.filter(pk=job.pk).update(data_deleted_at=clock.now())
    answer = ada.get(f"/jobs/{job.pk}/results{tail}")
    assert answer.status_code == 410
    assert "The data of this job was deleted on <time" in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]


def test_rows_of_the_other_region_are_named_and_not_shown(ada, job, settings):
    settings.ANEX_OTHER_REGION_URL = "https://eu.example"
    Job.objects.filter(pk=job.pk).update(region="eu")
    answer = ada.get(f"/jobs/{job.pk}/results")
    assert answer.status_code == 421
    html = answer.content.decode()
    assert ("https://eu.example" in html, "answer 1" in html) == (True, False)


def test_foreign_and_unknown_jobs_are_not_found(ada):
    foreign = scenes.done(make_organization("Globex"))
    for job_id in (foreign.pk, uuid4()):
        for tail in ("", "/0"):
            assert ada.get(f"/jobs/{job_id}/results{tail}").status_code == 404
