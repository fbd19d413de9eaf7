"""The example of reference 000, Batch API, as it is written there, against the platform; it sleeps less."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accounts.models import Organization
from anex.core.money import cents_to_nano
from billing.selectors import balances
from jobs.models import Job
from jobs.run.pump import Pump
from tests.factories import grant_credits, make_key, make_organization
from tests.jobs import batches
from tests.jobs.run.conftest import engine, kept_engine, kept_journal, pump
from tests.web import Web

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["engine", "kept_engine", "kept_journal", "pump"]

EXAMPLE = """
import time
from openai import OpenAI

client = OpenAI(base_url="{url}", api_key="{key}")
with open("requests.jsonl", "rb") as fh:
    f = client.files.create(file=fh, purpose="batch")
batch = client.batches.create(input_file_id=f.id,
                              endpoint="/v1/chat/completions",
                              completion_window="24h")
while batch.status not in ("completed", "failed", "expired", "cancelled"):
    time.sleep(60)
    batch = client.batches.retrieve(batch.id)
print(batch.status, batch.request_counts)
if batch.output_file_id:
    client.files.content(batch.output_file_id).write_to_file("output.jsonl")
if batch.error_file_id:
    client.files.content(batch.error_file_id).write_to_file("errors.jsonl")
"""
SHORTENED = "import time; sleep = time.sleep; time.sleep = lambda seconds: sleep(min(seconds, 0.2))\n"


@pytest.fixture
def web(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    settings.ANEX_STORAGE_DIR = tmp_path / "objects"
    monkeypatch.setenv("ANEX_STORAGE_DIR", str(tmp_path / "objects"))
    running = Web(tmp_path / "web.log")
    running.wait()
    yield running
    running.process.kill()
    running.process.wait()


@pytest.fixture
def acme(db: None) -> Organization:
    organization = make_organization("Acme")
    grant_credits(organization)
    return organization


def run_example(web: Web, organization: Organization, folder: Path, *lines: str) -> str:
    """Run it in a folder with this file; what it printed."""
    (folder / "requests.jsonl").write_text("".join(f"{text}\n" for text in lines))
    script = EXAMPLE.format(url=f"http://127.0.0.1:{web.port}/v1", key=make_key(organization).secret)
    command = [sys.executable, "-c", SHORTENED + script]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_of_the_reference_runs_as_written(
    acme: Organization, engine: Any, pump: Pump, web: Web, tmp_path: Path
) -> None:
    before = balances.get(acme.pk).balance_nano
    wrong = batches.line("row-1", "[[status 400]]")
    said = run_example(web, acme, tmp_path, batches.line("row-0"), wrong, batches.line("row-2"))
    assert said == "completed BatchRequestCounts(completed=2, failed=1, total=3)\n"
    output, errors = (
        [json.loads(text) for text in (tmp_path / name).read_text().splitlines()]
        for name in ("output.jsonl", "errors.jsonl")
    )
    assert (batches.ids(output), batches.ids(errors)) == (["row-0", "row-2"], ["row-1"])
    job = Job.objects.get()
    assert before - balances.get(acme.pk).balance_nano == cents_to_nano(job.charge_cents or 0) > 0


def test_no_file_is_written_where_there_is_nothing_to_write(
    acme: Organization, engine: Any, pump: Pump, web: Web, tmp_path: Path
) -> None:
    assert run_example(web, acme, tmp_path, batches.line("row-0", "[[status 400]]")).startswith("completed ")
    assert not (tmp_path / "output.jsonl").exists()
