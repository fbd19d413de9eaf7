"""The pages of a job that is an OpenAI batch."""

from datetime import timedelta

import pytest

from anex.core import clock
from jobs.models import File, Job
from jobs.storage import store
from tests.console import scenes
from tests.console.test_job_page import page_of
from tests.jobs import batches


def deliver(job, part):
    stored = store().put(f"jobs/{job.pk}/{part}.jsonl", b"{}\n")
    File.objects.create(
        organization=job.organization,
        region="world",
        purpose=File.Purpose.BATCH_OUTPUT,
        job=job,
        part=part,
        key=stored.key,
        etag=stored.etag,
        size_bytes=stored.size,
        created_at=clock.now(),
        expires_at=clock.now() + timedelta(days=30),
    )
    return stored.key


def test_page_names_the_batch_and_how_to_poll_it(ada, acme):
    job = batches.make(scenes.running(acme))
    html = page_of(ada, job)
    assert f"/v1/batches/batch_{job.pk.hex} " in html
    assert "/batch/v1/jobs/" not in html
    assert "/v1/chat/completions" in html
    assert "each request’s own, at most 256 tokens" in html


def test_waiting_batch_says_that_it_starts_by_itself(ada, acme):
    html = page_of(ada, batches.make(scenes.quoted(acme)))
    assert "starts by itself" in html
    assert "left to start" in html
    assert "Approve and run" in html


def test_estimating_batch_can_be_cancelled(ada, acme):
    job = batches.make(scenes.job_with_steps(acme, "submitted", "estimating"))
    assert "Cancel the job" in page_of(ada, job)
    ada.post(f"/jobs/{job.pk}/cancel")
    assert Job.objects.get(pk=job.pk).status == "cancelled"


@pytest.mark.parametrize("parts", [("output", "error"), ("error",), ("output",)])
def test_both_files_can_be_downloaded(ada, acme, parts):
    job = batches.make(scenes.done(acme))
    keys = {part: deliver(job, part) for part in parts}
    Job.objects.filter(pk=job.pk).update(result_key=keys.get("output", ""))
    html = page_of(ada, job)
    for part, path in (("output", "result"), ("error", "errors")):
        assert (f'"/jobs/{job.pk}/{path}"' in html) == (part in parts)
        answer = ada.get(f"/jobs/{job.pk}/{path}")
        assert answer.status_code == 302
        assert (keys[part] in answer["Location"]) if part in parts else (answer["Location"] == f"/jobs/{job.pk}")


def test_expired_batch_is_called_so(ada, acme):
    job = batches.make(scenes.job_with_steps(acme, "submitted", "cancelled", stop_reason="expired"))
    rows = ada.get("/jobs", headers={"HX-Request": "true"})
    for html in (page_of(ada, job), rows.content.decode()):
        assert "Expired" in html
        assert "Cancelled" not in html


def test_a_job_that_is_no_batch_has_no_error_file(ada, acme):
    job = scenes.done(acme, result_key="tests/result")
    assert "errors" not in page_of(ada, job).split("About this job")[0]
    assert ada.get(f"/jobs/{job.pk}/errors")["Location"] == f"/jobs/{job.pk}"
