"""How many servers a model's queue wants, and what an operator and Prometheus are told of it."""

import json
from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client

from accounts.models import Organization
from anex.core import clock
from anex.core.actors import system
from inference.backends import registry
from jobs.models import Part
from jobs.scale import Queue
from jobs.selectors import queues
from tests.jobs.api import stages

BUSY = Queue("tiny", "world", jobs=1, chunks=100, rows=1_000, tokens=1_000_000, tokens_per_second=100.0, servers=2)


@pytest.mark.parametrize(
    ("queue", "wanted"),
    [
        (BUSY, 3),
        (replace(BUSY, tokens=1), 1),
        (replace(BUSY, chunks=2), 2),
        (replace(BUSY, tokens_per_second=None), 2),
        (replace(BUSY, tokens_per_second=None, servers=0), 1),
        (Queue("tiny", "world", jobs=1), 1),
        (Queue("tiny", "world", servers=3), 0),
    ],
    ids=["within an hour", "at least one", "one a chunk", "no pace", "no pace, no server", "estimated", "idle"],
)
def test_servers_are_wanted_by_what_waits(queue: Queue, wanted: int) -> None:
    assert queue.wanted() == wanted


def test_shorter_aim_wants_more_servers() -> None:
    assert BUSY.wanted(within_s=1_000) == 10


def serve(**changes: str) -> None:
    url = {"base_url": "http://10.0.0.5:8000/v1"} | changes
    registry.configure(model_id=stages.MODEL, served_name="m", actor=system("test"), **url)  # type: ignore[arg-type]


def queue() -> Queue:
    (found,) = queues.every()
    return found


def test_rows_that_are_not_durable_wait_and_take_the_tokens_that_rows_of_their_job_took(acme: Organization) -> None:
    job = stages.running(acme)
    stages.part(job, success_rows=10, output_tokens=70)
    job.chunks.filter(index=0).update(done="1" * 10 + "0" * 40)
    assert (queue().jobs, queue().chunks, queue().rows, queue().tokens) == (1, 2, 90, 630)


def test_rows_of_a_job_that_has_none_yet_take_what_the_last_jobs_took(acme: Organization) -> None:
    stages.running(acme)
    assert queue().tokens == 100 * 600
    stages.ended(acme, tokens_per_second=50.0, tokens_per_row=20.0, startup_seconds=1.0)
    assert (queue().tokens, queue().tokens_per_second, queue().wanted(20)) == (2_000, 50.0, 2)


def test_pace_of_a_server_is_what_all_made_lately_shared_among_them(acme: Organization) -> None:
    job = stages.running(acme, approved_at=clock.now() - timedelta(hours=1))
    parts = [stages.part(job, index=index, output_tokens=600) for index in (0, 1)]
    Part.objects.filter(pk=parts[0].pk).update(created_at=clock.now() - timedelta(seconds=60))
    Part.objects.filter(pk=parts[1].pk).update(created_at=clock.now())
    serve()
    serve(base_url="http://10.0.0.6:8000/v1")
    assert queue().servers == 2
    assert queue().tokens_per_second == pytest.approx(600 / 60 / 2, rel=0.01)


def test_paused_and_quoted_jobs_want_nothing_and_submitted_ones_a_server(acme: Organization) -> None:
    stages.running(acme, paused=True)
    stages.quoted(acme)
    assert queues.every() == []
    stages.submitted(acme)
    assert (queue().rows, queue().wanted()) == (0, 1)


def test_command_names_each_model(acme: Organization) -> None:
    stages.running(acme)
    serve()
    out = StringIO()
    call_command("scale", "--json", stdout=out)
    (line,) = json.loads(out.getvalue())
    assert line == {
        "model": stages.MODEL,
        "region": "world",
        "rows_waiting": 100,
        "tokens_waiting": 60_000,
        "tokens_per_second": None,
        "servers": 1,
        "wanted": 1,
    }
    call_command("scale", stdout=(table := StringIO()))
    assert table.getvalue().splitlines()[1] == f"{stages.MODEL}\tworld\t100\t60000\t-\t1\t1"


def test_metrics_are_for_whoever_has_the_token(acme: Organization, settings: pytest.FixtureRequest) -> None:
    stages.running(acme)
    assert Client().get("/metrics").status_code == 404
    settings.ANEX_METRICS_TOKEN = "metrics-token"  # type: ignore[attr-defined]
    for header in ("", "Bearer wrong", "Bearer é", "metrics-token"):
        assert Client().get("/metrics", headers={"Authorization": header}).status_code == 404
    answer = Client().get("/metrics", headers={"Authorization": "Bearer metrics-token"})
    labels = f'{{model="{stages.MODEL}",region="world"}}'
    lines = answer.content.decode().splitlines()
    assert answer["Content-Type"].startswith("text/plain; version=0.0.4")
    for name, value in (("anex_queue_rows", "100.0"), ("anex_servers", "0.0"), ("anex_servers_wanted", "1.0")):
        assert f"{name}{labels} {value}" in lines
    assert not any(line.startswith("anex_server_tokens_per_second{") for line in lines)
