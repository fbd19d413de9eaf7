from datetime import timedelta

import pytest

from anex.core import clock
from anex.core.actors import Actor
from jobs.models import Job
from tests.console import scenes
from tests.factories import add_member, make_key, make_organization, make_user


def shown(browser, **query):
    """The ids of the jobs in a list, in its order."""
    html = browser.get("/jobs", query, headers={"HX-Request": "true"}).content.decode()
    ids = {str(job.pk): html.find(str(job.pk)) for job in Job.objects.all()}
    return [job_id for job_id, place in sorted(ids.items(), key=lambda pair: pair[1]) if place >= 0]


def test_list_shows_each_job_with_its_quote_and_charge(ada, acme):
    finished, waiting = scenes.done(acme), scenes.quoted(acme)
    html = ada.get("/jobs").content.decode()
    for told in (str(finished.pk), str(waiting.pk), "Done", "Quoted", "$4.12", "$2.97", "1,200"):
        assert told in html
    assert "1 of 10</a> waiting for approval" in html


def test_list_holds_no_job_of_another_organization(ada):
    foreign = scenes.done(make_organization("Globex"))
    assert str(foreign.pk) not in ada.get("/jobs").content.decode()


def test_empty_list_offers_a_sample_file(ada):
    html = ada.get("/jobs").content.decode()
    assert "No jobs yet" in html
    assert "/static/console/sample.jsonl" in html


def test_list_costs_the_same_few_queries_however_long(ada, acme, django_assert_max_num_queries):
    key = make_key(acme)
    for number in range(20):
        scenes.done(acme, created_by=str(Actor("key", key.caller.key_id)))
        scenes.running(acme)
        add_member(acme, f"member-{number}")
    with django_assert_max_num_queries(14):
        ada.get("/jobs")


def test_list_goes_on_page_by_page_whatever_comes_meanwhile(ada, acme, monkeypatch):
    monkeypatch.setattr("anex.console.views.job_list.SHOWN", 2)
    made = [str(scenes.done(acme).pk) for _ in range(5)][::-1]
    seen, after = [], None
    while after != "":
        answer = ada.get("/jobs", {"status": "done"} | ({"after": after} if after else {}))
        seen += [job.pk for job, _, _ in answer.context["lines"]]
        after = answer.context["older"].partition("after=")[2].replace("%3D", "=")
        scenes.done(acme)
    assert [str(job_id) for job_id in seen] == made
    assert len(ada.get("/jobs", {"after": "nothing"}).context["lines"]) == 2


def test_list_is_narrowed_by_status_model_person_key_and_day(ada, acme):
    key, bob = make_key(acme), add_member(acme, "bob")
    mine = scenes.done(acme, created_by=f"user:{make_user('ada').pk}")
    waiting = scenes.quoted(acme, created_by=f"key:{key.caller.key_id}")
    old = scenes.failed(acme)
    Job.objects.filter(pk=mine.pk).update(model_id="minilm-l6-v2")
    Job.objects.filter(pk=old.pk).update(created_by=f"user:{bob.pk}", created_at=clock.now() - timedelta(days=9))
    today, week = f"{clock.now():%Y-%m-%d}", f"{clock.now() - timedelta(days=7):%Y-%m-%d}"
    asked = {
        "status=done": [mine],
        "status=moving": [waiting],
        "model=minilm-l6-v2": [mine],
        f"who=user:{bob.pk}": [old],
        f"who=key:{key.caller.key_id}": [waiting],
        f"since={today}": [waiting, mine],
        f"until={week}": [old],
        f"status=failed&since={today}": [],
    }
    for query, jobs in asked.items():
        pairs = dict(pair.split("=") for pair in query.split("&"))
        assert shown(ada, **pairs) == [str(job.pk) for job in jobs], query


def test_a_job_is_found_by_its_id_or_how_it_begins(ada, acme):
    jobs = [scenes.done(acme) for _ in range(3)]
    wanted = jobs[1].pk
    for written in (str(wanted), f" {str(wanted)[:11].upper()} ", f"batch_{wanted.hex}"):
        assert shown(ada, id=written) == [str(wanted)]
    answer = ada.get("/jobs", {"id": "what?"})
    assert answer.status_code == 400
    assert "An id is at least four" in answer.content.decode()


@pytest.mark.parametrize("query", [{"since": "0001-01-01"}, {"until": "9999-12-31"}, {"id": "0" * 32}, {"who": "x"}])
def test_filters_at_their_ends_break_nothing(ada, acme, query):
    scenes.done(acme)
    assert ada.get("/jobs", query).status_code in (200, 400)


def test_rows_that_move_fetch_themselves_and_others_do_not(ada, acme):
    scenes.done(acme)
    assert "data-live" not in ada.get("/jobs").content.decode()
    moving = scenes.running(acme)
    html = ada.get("/jobs", {"status": "moving"}).content.decode()
    assert f'data-live="{moving.pk}" hx-get="/jobs?status=moving"' in html
    assert "300 of 1,200" in html
