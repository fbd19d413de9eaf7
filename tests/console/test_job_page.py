import pytest

from accounts.services import audit, organizations
from anex.core.actors import Actor, system
from billing.selectors import balances
from inference.backends import registry
from jobs.models import Job, JobEvent
from jobs.storage import keys, store
from tests.console import scenes
from tests.factories import actor_of, grant_credits, make_organization, make_user


def page_of(browser, job, tail=""):
    return browser.get(f"/jobs/{job.pk}{tail}").content.decode()


def test_quoted_job_names_its_ceiling_and_the_time_left(ada, acme):
    html = page_of(ada, scenes.quoted(acme))
    for shown in ("This job costs at most $4.12", "5\xa0hours", "1,200", "Approve and run", "Cancel the job"):
        assert shown in html


def test_quoted_job_says_what_it_will_usually_cost(ada, acme):
    usual = {"expected_cost_cents": 150, "expected_cost_low_cents": 110, "expected_cost_high_cents": 260}
    job = scenes.quoted(acme, **usual)
    html = page_of(ada, job)
    assert all(said in html for said in ("$1.50", "between $1.10 and $2.60", "never more than $4.12"))
    assert "Usually about" not in page_of(ada, scenes.quoted(acme))
    sure = dict.fromkeys(usual, scenes.QUOTED["quote_cents"])
    assert "Usually about" not in page_of(ada, scenes.quoted(acme, **sure))


def test_quoted_job_says_how_long_it_will_usually_take(ada, acme):
    assert "about 15 minutes" in page_of(ada, scenes.quoted(acme, est_processing_seconds=900))


def test_approving_holds_the_quote_and_starts_the_job(ada, acme):
    grant_credits(acme, 500)
    job = scenes.quoted(acme)
    answer = ada.post(f"/jobs/{job.pk}/approve", follow=True)
    assert answer.redirect_chain == [(f"/jobs/{job.pk}", 302)]
    assert "Approved." in answer.content.decode()
    assert Job.objects.get(pk=job.pk).status == "in_progress"
    assert balances.get(acme.pk).held_nano == 412 * 10_000_000
    assert JobEvent.objects.filter(job=job, type="in_progress", actor=str(actor_of(make_user("ada")))).exists()


def test_approving_without_credits_says_what_is_missing_and_keeps_the_job(ada, acme):
    grant_credits(acme, 100)
    job = scenes.quoted(acme)
    html = ada.post(f"/jobs/{job.pk}/approve", follow=True).content.decode()
    assert "$3.12" in html
    assert Job.objects.get(pk=job.pk).status == "cost_ready"


def test_cancelling_a_quoted_job_ends_it_free_of_charge(ada, acme):
    job = scenes.quoted(acme)
    html = ada.post(f"/jobs/{job.pk}/cancel", follow=True).content.decode()
    assert "Cancelled" in html
    assert Job.objects.get(pk=job.pk).status == "cancelled"


def test_moving_a_job_needs_a_post(ada, acme):
    job = scenes.quoted(acme)
    assert ada.get(f"/jobs/{job.pk}/approve").status_code == 405
    assert ada.get(f"/jobs/{job.pk}/cancel").status_code == 200
    assert Job.objects.get(pk=job.pk).status == "cost_ready"


def test_running_job_says_that_it_waits_for_a_server(ada, acme):
    job = scenes.running(acme)
    assert "no server of the model is up" in page_of(ada, job, "/live")
    registry.configure(model_id=job.model_id, base_url="http://10.0.0.5:8000/v1", served_name="m", actor=system("test"))
    assert "no server of the model is up" not in page_of(ada, job, "/live")


def test_running_job_shows_progress_and_asks_for_more(ada, acme):
    job = scenes.running(acme)
    registry.configure(
        model_id=job.model_id, base_url="http://127.0.0.1:9/v1", served_name=job.model_id, actor=system("tests")
    )
    html = page_of(ada, job, "/live")
    assert 'max="1200" value="300"' in html
    assert "300 of 1,200 rows" in html
    assert "$1.23 so far" in html
    assert "1 token read, 1 written" in html
    assert "300 rows a second, under a minute left" in html
    assert 'hx-trigger="refresh, every 15s"' in html


def test_quote_of_a_shorter_window_says_what_it_costs(ada, acme):
    html = page_of(ada, scenes.quoted(acme, completion_window="1h", priority=7))
    assert "Priced at 150 % of the listed rates" in html
    assert "within an hour, before jobs that have a day; priority 7 among your own" in html
    assert "of the listed rates" not in page_of(ada, scenes.quoted(acme))


@pytest.mark.parametrize("scene", [scenes.done, scenes.failed])
def test_page_of_a_job_that_is_over_stops_asking(ada, acme, scene):
    assert "hx-get" not in page_of(ada, scene(acme), "/live")


def test_done_job_shows_the_charge_beside_the_quote_and_a_download(ada, acme):
    html = page_of(ada, scenes.done(acme, result_key="tests/result"))
    assert html.index("$4.12") < html.index("$2.97")
    assert "Download result" in html
    assert "1,180" in html


def test_download_leads_to_the_file_itself(ada, acme):
    stored = store().put("tests/result", b'{"custom_id":"a"}\n')
    job = scenes.done(acme, result_key=stored.key)
    answer = ada.get(f"/jobs/{job.pk}/result")
    assert answer.status_code == 302
    assert stored.key in answer["Location"]
    assert "no-store" in answer["Cache-Control"]


def test_download_of_nothing_says_so_on_the_page(ada, acme):
    answer = ada.get(f"/jobs/{scenes.failed(acme).pk}/result", follow=True)
    assert "no result" in answer.content.decode()


def test_failed_job_names_the_lines_and_says_nothing_was_charged(ada, acme):
    job = scenes.failed(acme)
    store().put(
        keys.failure(job.pk),
        b'{"reason":"Line 3 is refused.","errors":[{"code":"missing","message":"custom_id <b> is missing.","line":3},'
        b'{"code":"empty","message":"messages must not be empty.","line":5,"custom_id":"doc-<5>"}]}',
    )
    html = page_of(ada, job)
    assert "doc-&lt;5&gt;" in html
    assert "Line 3 is refused." in html
    assert "custom_id &lt;b&gt; is missing." in html
    assert "Nothing was charged." in html


def test_every_problem_of_a_file_as_a_whole_is_shown(ada, acme):
    job = scenes.failed(acme)
    errors = ",".join(f'{{"code":"missing_column","message":"No {name}.","line":null}}' for name in ("id", "input"))
    store().put(keys.failure(job.pk), f'{{"reason":"No id.","errors":[{errors}]}}'.encode())
    html = page_of(ada, job)
    assert (html.count("No id."), html.count("No input.")) == (2, 1)


def test_failed_job_stays_readable_when_its_data_is_gone(ada, acme):
    assert "deleted with the job" in page_of(ada, scenes.failed(acme))


def test_page_carries_lines_that_poll_this_job_in_three_languages(ada, acme, settings):
    job = scenes.quoted(acme)
    html = page_of(ada, job)
    assert f"curl {settings.ANEX_PUBLIC_URL}/batch/v1/jobs/{job.pk}" in html
    assert html.count(f"{settings.ANEX_PUBLIC_URL}/batch/v1/jobs/{job.pk}") == 3
    assert all(f'aria-label="{language}"' in html for language in ("curl", "Python", "JavaScript"))


def test_page_tells_who_did_what_and_why(ada, acme):
    grant_credits(acme)
    job = scenes.quoted(acme)
    ada.post(f"/jobs/{job.pk}/approve")
    ada.post(f"/jobs/{job.pk}/pause")
    staff, said = Actor("staff", "7"), "a <b>reason</b>"
    audit.record(organization_id=acme.pk, actor=staff, action="job.staff_requeue", target=str(job.pk), reason=said)
    audit.record(organization_id=acme.pk, actor=staff, action="job.paused", target="another")
    for tail in ("", "/live"):
        html = page_of(ada, job, tail)
        history = html[html.index('id="job-history"') :]
        told = ["ada@example.com</b> approved the quote", "</b> paused it", "Anex</b> staff requeue: a &lt;b&gt;reason"]
        assert [history.index(line) for line in told] == sorted(history.index(line) for line in told)
        assert history.count("paused it") == 1


def test_page_costs_the_same_few_queries_whatever_happened(ada, acme, django_assert_max_num_queries):
    job = scenes.running(acme)
    for _ in range(20):
        audit.record(organization_id=acme.pk, actor=system("x"), action="job.paused", target=str(job.pk))
        scenes.done(acme, retry_of=job)
    for tail in ("", "/live"):
        with django_assert_max_num_queries(17):
            page_of(ada, job, tail)


def test_cancelling_asks_first_and_names_what_is_lost(ada, acme):
    html = page_of(ada, scenes.running(acme), "/cancel")
    for said in ("300 of 1,200 rows have an answer", "the other 900 rows are not sent", "$4.12"):
        assert said in html
    assert "No row was sent and nothing is charged" in page_of(ada, scenes.quoted(acme), "/cancel")


@pytest.mark.parametrize("tail", ["", "/live", "/result"])
def test_job_of_another_organization_is_not_found(ada, tail):
    foreign = scenes.done(make_organization("Globex"), result_key="tests/foreign")
    assert ada.get(f"/jobs/{foreign.pk}{tail}").status_code == 404


@pytest.mark.parametrize("verb", ["approve", "cancel"])
def test_job_of_another_organization_cannot_be_moved(ada, verb):
    globex = make_organization("Globex")
    grant_credits(globex)
    foreign = scenes.quoted(globex)
    assert ada.post(f"/jobs/{foreign.pk}/{verb}").status_code == 404
    assert Job.objects.get(pk=foreign.pk).status == "cost_ready"


def test_suspended_organization_cancels_but_does_not_approve(ada, acme):
    grant_credits(acme)
    job = scenes.quoted(acme)
    organizations.suspend(organization_id=acme.pk, actor=Actor("staff", "1"), reason="unpaid")
    assert "Approve and run" not in page_of(ada, job)
    assert ada.post(f"/jobs/{job.pk}/approve").status_code == 403
    assert ada.post(f"/jobs/{job.pk}/cancel").status_code == 302


def test_what_a_customer_wrote_into_a_failing_row_is_only_text(ada, acme):
    job = scenes.failed(acme)
    evil = "<script>alert(1)</script>"
    error = f'{{"code":"{evil}","line":3,"message":"{evil}","param":"{evil}","custom_id":"{evil}"}}'
    store().put(keys.failure(job.pk), f'{{"reason":"{evil}","errors":[{error}]}}'.encode())
    for tail in ("", "/live"):
        html = page_of(ada, job, tail)
        assert "&lt;script&gt;alert(1)" in html
        assert evil not in html


def test_facts_of_the_job_move_with_its_steps(ada, acme):
    job = scenes.done(acme)
    assert "hx-swap-oob" not in page_of(ada, job)
    html = page_of(ada, job, "/live")
    assert 'id="about-job"' in html
    assert 'hx-swap-oob="true"' in html
    assert "kept until <time" in html


def test_failure_of_the_whole_job_is_said_once_and_offers_no_retry_before_approval(ada, acme):
    job = scenes.failed(acme)
    Job.objects.filter(pk=job.pk).update(row_count=80, success_rows=0)
    said = b"The typical answer would be cut off."
    store().put(
        keys.failure(job.pk), b'{"reason":"%s","errors":[{"code":"output_too_long","message":"%s"}]}' % (said, said)
    )
    html = page_of(ada, job)
    assert html.count(said.decode()) == 1
    assert "Retry failed rows" not in html


@pytest.mark.parametrize("task", ["embed", "decide"])
def test_page_of_a_job_that_writes_nothing_is_silent_about_answers_and_their_cap(ada, acme, task):
    job = scenes.done(acme, task_type=task, max_output_tokens=0, est_output_tokens=0)
    html = page_of(ada, job)
    assert [word for word in ("Longest answer", "Temperature", "Output tokens", "Cut off") if word in html] == []
    assert ">Refused</dt>" in html


def test_options_a_program_set_are_among_the_facts(ada, acme):
    job = scenes.done(acme, reasoning_effort="low", video_fps=0.5, dimensions=256, has_response_format=True)
    html = page_of(ada, job)
    facts = ("<dd>low</dd>", "0.5 frames per second", "256 numbers", "response_format", "Refused or off the format")
    assert all(fact in html for fact in facts)
