"""A job from its upload to its result with every object in S3: the same code, other settings."""

import tempfile
from pathlib import Path

import pytest

from jobs.storage.s3 import connect
from tests.faults.books import assert_books_agree, assert_ledger_adds_up, chat_lines
from tests.jobs.storage import strict_s3
from tests.stack import Stack

BUCKET = "anex-flow"


@pytest.mark.slow
def test_a_job_runs_from_upload_to_result_in_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", strict_s3.ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", strict_s3.SECRET)
    with strict_s3.serving() as url, tempfile.TemporaryDirectory(prefix="anex-s3-", dir="/var/tmp") as folder:
        client = connect(endpoint_url=url, region=strict_s3.REGION)
        client.create_bucket(Bucket=BUCKET)
        settings = {"ANEX_S3_BUCKET": BUCKET, "ANEX_S3_ENDPOINT_URL": url, "ANEX_S3_REGION": strict_s3.REGION}
        with Stack(Path(folder), durable=False, environment=settings) as stack:
            lines = chat_lines(300)
            job_id = stack.submit(lines, response_format={"type": "text"}, max_output_tokens=16)
            stack.wait_for(job_id, "cost_ready")
            stack.api("POST", f"/jobs/{job_id}/approve")
            stack.wait_for(job_id, "done")
            assert_books_agree(stack, job_id, lines)
            assert_ledger_adds_up(stack)
            link = stack.api("GET", f"/jobs/{job_id}/result")["result_url"]
            assert link.startswith(url)
            assert not (Path(folder) / "objects").exists()
