"""GET /jobs: pages of an organization's jobs, newest first (an addition to reference 003)."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.lifecycle import Status
from jobs.models import Job
from jobs.selectors.pages import Place, encode
from tests.factories import make_job
from tests.jobs.api import stages

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(job: Job, moment: datetime) -> Job:
    Job.objects.filter(pk=job.pk).update(created_at=moment)
    return job


def listed(api, **query) -> dict:
    answer = api.get("/batch/v1/jobs", query)
    assert answer.status_code == 200, answer.json()
    return answer.json()


def ids(page: dict) -> list[str]:
    return [job["id"] for job in page["data"]]


def walk(api, **query) -> list[str]:
    found, page = [], listed(api, **query)
    found += ids(page)
    while page["has_more"]:
        page = listed(api, after=page["next_cursor"], **query)
        found += ids(page)
    assert page["next_cursor"] is None
    return found


def test_newest_first_and_only_of_the_organization(api, acme, globex):
    old, new = at(stages.quoted(acme), START), at(stages.quoted(acme), START + timedelta(1))
    stages.quoted(globex)
    assert listed(api) == listed(api, limit=100)
    assert ids(listed(api)) == [str(new.pk), str(old.pk)]
    assert (listed(api)["has_more"], listed(api)["next_cursor"]) == (False, None)


def test_no_jobs_is_an_empty_page(api):
    assert listed(api) == {"data": [], "has_more": False, "next_cursor": None}


def test_items_are_jobs_as_get_answers_them_without_what_is_in_the_store(api, acme):
    for make in (stages.submitted, stages.quoted, stages.running, stages.ended):
        make(acme)
    for item in listed(api)["data"]:
        whole = api.get(f"/batch/v1/jobs/{item['id']}").json()
        left_out = {name: whole.pop(name) for name in ("failure_reason", "failure_errors", "response_format")}
        assert item == whole
        assert left_out["failure_errors"] == []


def test_failed_job_shows_its_code(api, acme):
    stages.submitted(acme, status=Status.FAILED, failure_code="invalid_input")
    assert listed(api)["data"][0]["failure_code"] == "invalid_input"


def test_pages_hold_every_job_once_though_many_share_a_moment(api, acme):
    jobs = [at(make_job(acme), START + timedelta(seconds=place // 4)) for place in range(23)]
    walked = walk(api, limit=5)
    assert sorted(walked) == sorted(str(job.pk) for job in jobs)
    assert walked == ids(listed(api, limit=100))


def test_twenty_are_a_page_unless_said_otherwise(api, acme):
    for _ in range(21):
        make_job(acme)
    page = listed(api)
    assert (len(page["data"]), page["has_more"]) == (20, True)


def test_jobs_that_come_meanwhile_move_nothing(api, acme):
    for place in range(4):
        at(make_job(acme), START + timedelta(seconds=place))
    before = ids(listed(api))
    first = listed(api, limit=2)
    make_job(acme)
    assert ids(first) + ids(listed(api, limit=2, after=first["next_cursor"])) == before


@pytest.mark.parametrize("statuses", ["done,cost_ready", ["done", "cost_ready"]])
def test_statuses_are_repeated_or_separated_by_commas(api, acme, statuses):
    wanted = {str(stages.quoted(acme).pk), str(stages.ended(acme).pk)}
    stages.submitted(acme)
    assert set(ids(listed(api, status=statuses))) == wanted


def test_filters_by_model_key_and_time(api, acme, key):
    mine = at(make_job(acme, model_id="laya", created_by=f"key:{key.caller.key_id}"), START)
    other = at(make_job(acme, model_id=stages.MODEL), START + timedelta(hours=1))
    assert ids(listed(api, model="laya")) == ids(listed(api, key=key.caller.key_id)) == [str(mine.pk)]
    assert ids(listed(api, created_after="2026-01-01T00:00:00Z")) == [str(other.pk)]
    assert ids(listed(api, created_before="2026-01-01T01:00:00Z")) == [str(mine.pk)]
    assert ids(listed(api, created_after="2026-01-01T01:30:00+02:00")) == [str(other.pk), str(mine.pk)]
    assert listed(api, model="no such model", status="done")["data"] == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("status", value) for value in ("", "finished", "done,", "DONE")),
        *(("limit", value) for value in ("0", "101", "-1", "ten", "", "1e2", "9" * 1001)),
        *(("created_after", value) for value in ("", "yesterday", "2026-13-01T00:00:00Z", "12")),
        ("created_before", "0000-01-01T00:00:00Z"),
        ("model", "x" * 65),
        ("key", "x" * 65),
        *(("after", value) for value in ("", "x", "AAAA", "A" * 31 + "!", "f" * 32, "é")),
    ],
)
def test_bad_value_is_422_and_names_the_field(api, acme, name, value):
    answer = api.get("/batch/v1/jobs", {name: value})
    assert answer.status_code == 422
    assert name in answer.json()["detail"]


def test_cursor_of_another_organization_shows_nothing_of_it(api, acme, globex):
    make_job(acme)
    theirs = make_job(globex)
    cursor = encode(Place(theirs.created_at + timedelta(1), uuid.uuid4()))
    assert str(theirs.pk) not in ids(listed(api, after=cursor))


def test_queries_do_not_grow_with_the_page(api, acme):
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            listed(api, limit=100)
        return len(queries)

    stages.part(stages.running(acme))
    count()  # the first use of a key is noted
    few = count()
    for _ in range(20):
        stages.part(stages.running(acme))
        stages.ended(acme)
        stages.submitted(acme)
    assert count() == few


def test_progress_is_each_jobs_own(api, acme):
    first, second, idle = (stages.running(acme) for _ in range(3))
    stages.part(first, cost_nano=30_000_000)
    stages.part(second, index=1, error_rows=5)
    names = ("rows_done", "rows_total", "spent_cents")
    shown = {job["id"]: {name: job["progress"][name] for name in names} for job in listed(api)["data"]}
    assert shown[str(first.pk)] == {"rows_done": 10, "rows_total": 100, "spent_cents": 3}
    assert shown[str(second.pk)] == {"rows_done": 15, "rows_total": 100, "spent_cents": 1}
    assert shown[str(idle.pk)] == {"rows_done": 0, "rows_total": 100, "spent_cents": 0}


def test_spend_so_far_never_passes_the_quote(api, acme):
    stages.part(stages.running(acme), cost_nano=10**12)
    assert listed(api)["data"][0]["progress"]["spent_cents"] == 72


@pytest.mark.parametrize("name", ["key", "model", "after", "status", "created_after", "limit"])
def test_a_nul_character_in_the_query_is_422(api, name):
    answer = api.get("/batch/v1/jobs", {name: "a\0"})
    assert answer.status_code == 422
    assert name in answer.json()["detail"]
