"""A custom_id is any non-empty string, and comes back as it was (reference 001, the input file)."""

import json
from typing import Any

import pytest

from accounts.models import Organization
from jobs.run.pump import Pump
from tests.jobs.run.driver import chat_line, submit, validate
from tests.jobs.run.test_pump import result, run

pytestmark = pytest.mark.django_db(transaction=True)

IDS = ["\x00", " ", " x", "x", "x ", "\t", "\n", "\r\n", "\u2028", "é", "e\u0301", "\U0001f600", "\ufeff", "0", "null"]


def test_ids_come_back_byte_for_byte_and_in_order(acme: Organization, engine: Any, pump: Pump) -> None:
    ids = [*IDS, "'\"\\{row}%s<b>", "../../etc", "k" * 300_000]
    job = run(acme, [chat_line(custom_id) for custom_id in ids])
    assert (job.status, job.error_rows) == ("done", 0)
    assert [line["custom_id"] for line in result(job)] == ids


def test_an_id_that_is_only_written_otherwise_is_the_same_id(acme: Organization) -> None:
    lines = [json.dumps(json.loads(chat_line("é")), ensure_ascii=ascii_only) for ascii_only in (True, False)]
    assert lines[0] != lines[1]
    job = validate(submit(acme, "\n".join(lines).encode()))
    assert (job.status, job.failure_line) == ("failed", 2)
