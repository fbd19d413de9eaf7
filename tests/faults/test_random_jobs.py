"""Random jobs through the whole pipeline, two hundred in full: none is charged more than its quote."""

import json
import random
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.books import assert_books_agree, assert_ledger_adds_up
from tests.sizes import sized
from tests.stack import Stack

JOBS = sized(40, 200)
TOGETHER = 10  # as many as may await approval at once
DIRECTIVES = [
    "",
    "",
    "[[tokens 1]]",
    "[[tokens 90]]",
    "[[tokens 5000]]",
    "[[usage absurd]]",
    "[[usage negative]]",
    "[[usage nan]]",
    "[[usage null]]",
    "[[usage zero]]",
    "[[status 400]]",
    "[[status 500 1]]",
    "[[status 429 2]]",
]


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with (
        tempfile.TemporaryDirectory(prefix="anex-random-", dir="/var/tmp") as folder,
        Stack(Path(folder), engine_options=("--retry-after-ms", "1"), durable=False) as running,
    ):
        yield running


def random_lines(dice: random.Random, job: int) -> list[str]:
    lines = []
    for row in range(dice.randint(1, 12)):
        words = " ".join("word" for _ in range(dice.randint(0, 60)))
        content = f"job {job} row {row} {dice.choice(DIRECTIVES)} {words}"
        body: dict[str, Any] = {"messages": [{"role": "user", "content": content}]}
        if dice.random() < 0.2:
            body["messages"].insert(0, {"role": "system", "content": "Be brief."})
        if dice.random() < 0.2:
            body["temperature"] = dice.choice([0, 0.7, 2])
        line = {"custom_id": f"{job}-{row}", "method": "POST", "url": "/v1/chat/completions", "body": body}
        lines.append(json.dumps(line))
    return lines


def random_options(dice: random.Random) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if dice.random() < 0.7:
        options["max_output_tokens"] = dice.choice([1, 2, 17, 256, 4096])
    if dice.random() < 0.3:
        options["reasoning"] = dice.random() < 0.5
    return options


def wait_until_none_is(stack: Stack, jobs: Iterable[str], *statuses: str) -> dict[str, str]:
    """The statuses of these jobs once none of them is one of those; asked in one statement, for polls take time."""
    deadline = time.monotonic() + 120
    names = ", ".join(f"'{job_id}'" for job_id in jobs)
    while True:
        found = dict(stack.query(f"SELECT id::text, status FROM jobs_job WHERE id IN ({names})")) if names else {}
        if not set(statuses) & set(found.values()):
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


def check_ended(stack: Stack, jobs: dict[str, list[str]]) -> None:
    ended = wait_until_none_is(stack, jobs, "in_progress", "finalizing")
    assert set(ended.values()) <= {"done"}, ended
    for job_id, lines in jobs.items():
        job = assert_books_agree(stack, job_id, lines)
        assert 0 <= job["charge_cents"] <= job["est_cost_cents"]
        assert job["est_output_tok"] == len(lines) * job["max_output_tokens"]


@pytest.mark.slow
def test_no_job_is_charged_more_than_its_quote(stack: Stack) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    ended, running = 0, dict[str, list[str]]()
    for first in range(0, JOBS, TOGETHER):
        batch = {}
        for job in range(first, first + TOGETHER):
            lines = random_lines(dice, job)
            batch[stack.submit(lines, **random_options(dice))] = lines
        check_ended(stack, running)  # while these are being priced
        priced = wait_until_none_is(stack, batch, "submitted", "estimating")
        assert set(priced.values()) <= {"cost_ready", "failed"}, priced
        running = {job_id: batch[job_id] for job_id, status in priced.items() if status == "cost_ready"}
        for job_id in running:
            stack.api("POST", f"/jobs/{job_id}/approve")
        ended += len(running)
    check_ended(stack, running)
    assert ended > JOBS // 4  # the others ended before a price: their sample was cut off or refused
    assert_ledger_adds_up(stack)
