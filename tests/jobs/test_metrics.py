"""What /metrics tells: of every process what it counted, of Postgres how things stand."""

import os
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from accounts.models import Organization
from anex import metrics
from anex.core import clock, measures, swept
from anex.settings.base import BASE_DIR
from billing.models import Account, Hold, UsageDay
from inference.models import Backend
from jobs.models import Chunk, Worker
from tests.factories import make_organization
from tests.jobs.api import stages


def read(settings: pytest.FixtureRequest) -> dict[tuple[str, frozenset[str]], float]:
    settings.ANEX_METRICS_TOKEN = "t"  # type: ignore[attr-defined]
    text = Client().get("/metrics", headers={"Authorization": "Bearer t"}).content.decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, frozenset(sample.labels.values())): sample.value for sample in samples}


def at(name: str, *labels: str) -> tuple[str, frozenset[str]]:
    return name, frozenset(labels)


def test_it_tells_jobs_chunks_workers_and_servers(acme: Organization, settings: pytest.FixtureRequest) -> None:
    job = stages.running(acme)
    now = clock.now()
    alive = Worker.objects.create(name="a", region="world", started_at=now, heartbeat_at=now)
    Worker.objects.create(name="b", region="world", started_at=now, heartbeat_at=now - timedelta(hours=1))
    Chunk.objects.filter(job=job).delete()
    for index, epoch in enumerate((None, alive.pk, 999_999)):
        Chunk.objects.create(job=job, kind="rows", index=index, row_count=1, done="0", epoch=epoch)
    Backend.objects.create(
        model_id="m", region="eu", base_url="http://x/v1", served_name="m", source=Backend.Source.REGISTERED
    )
    swept.record(now - timedelta(seconds=90))
    told = read(settings)
    assert told[at("anex_database_up")] == 1
    assert 80 < told[at("anex_sweep_age_seconds", "world")] < 600
    assert told[at("anex_jobs", "world", "in_progress")] == 1
    assert told[at("anex_workers", "world")] == 1
    names = ("anex_chunks_open", "anex_chunks_claimed", "anex_chunks_orphaned")
    assert [told[at(name, "world", "rows")] for name in names] == [3, 2, 1]
    assert told[at("anex_servers_silent", "eu")] == 1


def test_it_tells_tokens_money_and_how_far_the_ledger_is_behind(
    acme: Organization, settings: pytest.FixtureRequest
) -> None:
    sums = {"requests": 2, "input_tokens": 10, "cached_tokens": 4, "output_tokens": 5, "amount_nano": 2_500_000_000}
    for organization in (acme, make_organization()):
        UsageDay.objects.create(
            organization=organization, day=clock.now().date(), surface="chat", model_id="m", key_id="k", **sums
        )
    account, _ = Account.objects.get_or_create(organization=acme)
    late = clock.now() - timedelta(seconds=90)
    Hold.objects.create(source="req:x", account=account, amount_nano=1, actor="key:k", holder_id=0, expires_at=late)
    told = read(settings)
    kinds = {kind: told[at("anex_tokens_total", "chat", "m", kind)] for kind in ("input", "cached", "output")}
    assert kinds == {"input": 12, "cached": 8, "output": 10}
    assert told[at("anex_spend_dollars_total", "chat", "m")] == 5
    assert told[at("anex_settled_requests_total", "chat", "m")] == 4
    assert told[at("anex_request_holds")] == 1
    assert 60 < told[at("anex_ledger_lag_seconds")] < 600


def test_without_a_database_it_tells_that_and_what_the_process_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError

    def fails() -> None:
        raise OperationalError

    monkeypatch.setattr(metrics.queues, "every", fails)
    [up] = metrics._families()
    assert up.samples[0].value == 0


@pytest.mark.parametrize(
    ("path", "surface"),
    [
        ("/v1/chat/completions", "chat"),
        ("/openai/v1/responses", "responses"),
        ("/realtime/v1/systemone", "decisions"),
        ("/batch/v1/jobs/x", "jobs"),
        ("/v1/made-up-by-a-client", "api"),
        ("/made-up-by-a-client", "console"),
        ("/", "console"),
    ],
)
def test_a_path_counts_as_one_of_few_surfaces(path: str, surface: str) -> None:
    assert measures.surface_of(path) == surface


def test_processes_that_share_a_folder_tell_the_sum(tmp_path: Path) -> None:
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    code = (
        "from anex.core import measures; from prometheus_client import generate_latest\n"
        "measures.count_request('/v1/embeddings', 200, begun_s=0.1, whole_s=0.2)\n"
        "print(generate_latest(measures.registry()).decode())"
    )
    told = [
        subprocess.check_output([sys.executable, "-c", code], cwd=BASE_DIR, env=environment, text=True)
        for _ in range(2)
    ]
    assert 'anex_request_seconds_count{status="200",surface="embeddings"} 2.0' in told[1]
    assert all(socket.gethostname() in file.name for file in tmp_path.iterdir())
