"""Which rows are sent next: organizations and jobs take turns, and of a chunk those that begin alike are neighbours."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from accounts.models import Organization
from anex.core.actors import system
from inference.backends import registry
from jobs.run import claims, rows
from jobs.run.claims import Claim
from jobs.run.pump import Pump
from tests.factories import grant_credits
from tests.inference.scripted_server import scripted_server
from tests.jobs.run.driver import HandLease, approve, chat_line, submit, validate
from tests.jobs.run.test_pump import result, wait_for, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

PLACES = 8


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Path]:
    """What a slow server with few places was asked, in order."""
    with scripted_server("--journal", str(tmp_path / "journal"), "--delay-ms", "100") as running:
        registry.configure(
            model_id="scripted",
            base_url=running.base_url,
            served_name="scripted",
            concurrency=PLACES,
            actor=system("test"),
        )
        yield tmp_path / "journal"


def asked(journal: Path) -> list[str]:
    return journal.read_text().splitlines() if journal.exists() else []


def lines(name: str, rows: int) -> bytes:
    return "\n".join(chat_line(f"{name}-{row}", f"{name} {row}") for row in range(rows)).encode()


def test_a_short_job_does_not_wait_for_the_chunk_of_another_organization(
    acme: Organization, globex: Organization, journal: Path, pump: Pump
) -> None:
    grant_credits(globex)
    long_one = wait_for(submit(acme, lines("long", 3000)), "cost_ready")
    short_one = wait_for(submit(globex, lines("short", 10)), "cost_ready")
    approve(long_one)
    pump.ring()
    wait_until(lambda: len(asked(journal)) >= 2 * PLACES)
    approve(short_one)
    pump.ring()
    assert wait_for(short_one, "done").result_rows == 10
    short = [place for place, line in enumerate(asked(journal)) if line.startswith("short")]
    # Alone it would take two rounds of the server; beside the other every second place is its.
    assert short[-1] - short[0] <= 3 * 2 * PLACES
    assert short[-1] < 1024


def test_a_job_of_the_hour_has_four_places_for_each_of_another_organization(
    acme: Organization, globex: Organization, journal: Path, pump: Pump
) -> None:
    grant_credits(globex)
    day = wait_for(submit(acme, lines("day", 300)), "cost_ready")
    hour = wait_for(submit(globex, lines("hour", 100), completion_window="1h", share=4), "cost_ready")
    approve(day)
    pump.ring()
    wait_until(lambda: len(asked(journal)) >= 2 * PLACES)
    approve(hour)
    pump.ring()
    wait_for(hour, "done")
    names = [line.split()[0] for line in asked(journal)]
    beside = names[names.index("hour") : len(names) - names[::-1].index("hour")]
    # A fifth would be 25.
    assert 10 <= beside.count("day") <= 45


def test_organizations_then_jobs_with_the_fewest_chunks_in_hand_are_claimed_from(
    acme: Organization, globex: Organization, served: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant_credits(globex)
    monkeypatch.setattr("jobs.run.cutting.CHUNK_ROWS", 1)
    jobs = [validate(submit(whose, lines("row", 3))) for whose in (acme, acme, globex)]
    for job in jobs:
        approve(job)
    lease, claimed = HandLease(), list[Claim]()
    for _ in range(6):
        held = [found.id for found in claimed]
        options = {"region": "world", "kinds": ["rows"], "models": ["scripted"], "limit": 1, "held": held}
        claimed += claims.claim(lease, **options)  # type: ignore[arg-type]
    names = dict(zip([job.pk for job in jobs], ("first", "second", "other"), strict=True))
    order = [names[found.job_id] for found in claimed]
    assert order == ["first", "other", "second", "other", "first", "other"]


def test_rows_with_the_same_system_prompt_are_neighbours_and_the_result_is_in_order(
    acme: Organization, journal: Path
) -> None:
    pump = Pump(region="world", lease_seconds=5)
    systems = ["You are terse.", "You are kind.", "You are odd."]
    asked_rows = []
    for row in range(12):
        line = json.loads(chat_line(f"row-{row}", f"{row}"))
        line["body"]["messages"].insert(0, {"role": "system", "content": systems[row % 3]})
        asked_rows.append(json.dumps(line))
    (server,) = registry.live("world")
    one_by_one = {"base_url": server.base_url, "served_name": "scripted", "concurrency": 1}
    registry.configure(model_id="scripted", **one_by_one, actor=system("test"))  # type: ignore[arg-type]
    pump.start()
    job = wait_for(submit(acme, "\n".join(asked_rows).encode()), "cost_ready")
    approve(job)
    pump.ring()
    job = wait_for(job, "done")
    groups = [int(line) % 3 for line in asked(journal)]
    changes = sum(one != other for one, other in itertools.pairwise(groups))
    assert (len(groups), changes) == (12, 2)
    pump.stop()
    assert [line["custom_id"] for line in result(job)] == [f"row-{row}" for row in range(12)]


@pytest.mark.parametrize("asked", [{"input": "hi"}, {"input": [{"role": "user", "content": "hi"}]}])
def test_rows_of_another_protocol_begin_with_their_instructions(asked: dict[str, object]) -> None:
    lines = [
        json.dumps({"custom_id": f"{row}", "body": {"model": "m", **asked, "user": f"{row}", "instructions": text}})
        for row, text in enumerate(["kind", "terse", "kind"])
    ]
    starts = [rows._prompt_start(line.encode()) for line in lines]
    assert starts[0] == starts[2] != starts[1]
    assert rows._prompt_start(b'{"body": {"prompt": "hi"}}').startswith(b'"prompt"')
