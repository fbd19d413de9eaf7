"""The buttons of a job's page that pause, resume and retry it."""

import pytest

from accounts.services import organizations
from anex.core.actors import Actor, system
from inference.backends import registry
from jobs.models import Job
from tests.console import scenes
from tests.factories import add_member, grant_credits, make_input, make_organization


def page_of(browser, job):
    return browser.get(f"/jobs/{job.pk}/live").content.decode()


@pytest.fixture
def served(acme):
    grant_credits(acme)
    registry.configure(model_id=scenes.MODEL, base_url="http://127.0.0.1:9/v1", served_name="x", actor=system("tests"))


def test_running_job_is_paused_and_resumed(ada, acme):
    job = scenes.running(acme)
    assert 'id="pause"' in page_of(ada, job)
    html = ada.post(f"/jobs/{job.pk}/pause", follow=True).content.decode()
    assert "Paused. Rows that were on their way still finish." in html
    assert ">Paused</span>" in html
    assert 'id="resume"' in html
    assert 'id="pause"' not in html
    html = ada.post(f"/jobs/{job.pk}/resume", follow=True).content.decode()
    assert 'id="pause"' in html
    assert 'id="resume"' not in html


@pytest.mark.parametrize("path", ["/jobs", "/dashboard"])
def test_lists_say_that_a_job_is_paused(ada, acme, path):
    job = scenes.running(acme)
    ada.post(f"/jobs/{job.pk}/pause")
    assert "Paused" in ada.get(path).content.decode()


def test_job_that_does_not_run_cannot_be_paused(ada, acme):
    job = scenes.quoted(acme)
    assert 'id="pause"' not in page_of(ada, job)
    assert "Only a job in progress" in ada.post(f"/jobs/{job.pk}/pause", follow=True).content.decode()


def test_failed_rows_become_a_new_job_and_its_page(ada, acme, served):
    job = scenes.done(acme, result_key="tests/result")
    html = page_of(ada, job)
    assert "8 rows without a good answer" in html
    assert "without the minimum job price" in html
    answer = ada.post(f"/jobs/{job.pk}/retry", follow=True)
    made = Job.objects.get(retry_of=job)
    assert answer.redirect_chain == [(f"/jobs/{made.pk}", 302)]
    html = answer.content.decode()
    assert "is being priced" in html
    assert f'href="/jobs/{job.pk}"' in html


def test_member_may_retry_and_suspended_organization_may_not(ada, acme, served, client):
    job = scenes.done(acme)
    client.force_login(add_member(acme, "bob"))
    assert 'id="retry"' in page_of(client, job)
    organizations.suspend(organization_id=acme.pk, actor=Actor("staff", "1"), reason="unpaid")
    assert 'id="retry"' not in page_of(client, job)
    assert client.post(f"/jobs/{job.pk}/retry").status_code == 403


def test_nothing_to_retry_offers_nothing(ada, acme):
    whole = scenes.done(acme, success_rows=1188, error_rows=0)
    gone = scenes.done(acme, input=make_input(acme, status="expired"))
    assert 'id="retry"' not in page_of(ada, whole)
    assert 'id="retry"' not in page_of(ada, gone)
    assert 'id="retry"' not in page_of(ada, scenes.failed(acme))


@pytest.mark.parametrize("verb", ["pause", "resume", "retry"])
def test_moving_needs_a_post_and_a_job_of_ones_own(ada, acme, verb):
    assert ada.get(f"/jobs/{scenes.running(acme).pk}/{verb}").status_code == 405
    foreign = scenes.running(make_organization("Globex"))
    assert ada.post(f"/jobs/{foreign.pk}/{verb}").status_code == 404
