"""How soon a job runs, and what that costs: completion windows and priorities."""

import msgspec
import pytest

from accounts.models import Organization
from billing import price_cards
from jobs.models import Job
from jobs.run import claims
from jobs.run.claims import Claim, Rank
from jobs.selectors import contents
from jobs.selectors import jobs as reads
from tests.factories import grant_credits
from tests.jobs.run.driver import HandLease, approve, chat_line, submit, validate

ROWS = 8
HOUR = {"completion_window": "1h", "share": 4}


def lines(rows: int) -> bytes:
    return "\n".join(chat_line(f"row-{row}") for row in range(rows)).encode()


def running(whose: Organization, **fields: object) -> Job:
    return approve(validate(submit(whose, lines(ROWS), **fields)))


def test_claims_go_by_shares_between_organizations_and_by_priority_within_one(
    acme: Organization, globex: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant_credits(globex)
    monkeypatch.setattr("jobs.run.cutting.CHUNK_ROWS", 1)
    low, high = running(acme), running(acme, priority=9)
    urgent = running(globex, priority=0, **HOUR)
    names = {low.pk: "low", high.pk: "high", urgent.pk: "urgent"}
    lease, held = HandLease(), list[Claim]()

    def claim(**passed: object) -> str | None:
        options = {"region": "world", "kinds": ["rows"], "models": ["scripted"], "limit": 1}
        found = claims.claim(lease, held=[one.id for one in held], **options, **passed)  # type: ignore[arg-type]
        held.extend(found)
        return names[found[0].job_id] if found else None

    assert claim(least_share=2) == "urgent"
    # The hour is due four places for each of the day.
    assert [claim() for _ in range(9)] == ["high", *["urgent"] * 3, "high", *["urgent"] * 4]
    # Who has enough at hand is passed, but for what goes before it.
    assert claim(passed_organizations={acme.pk: Rank(1, 5)}) == "high"
    assert claim(passed_organizations={acme.pk: Rank(4, 0)}) is None
    assert [claim() for _ in range(6)] == ["high"] * 5 + ["low"]


def test_a_shorter_window_is_quoted_at_its_percentage(acme: Organization) -> None:
    usual, hour = (
        validate(submit(acme, lines(50), requested_max_output_tokens=2200, **fields)) for fields in ({}, HOUR)
    )
    assert (usual.quote_cents, hour.quote_cents) == (5, 7)
    assert (usual.prices or {})["text"]["output"] * 3 == (hour.prices or {})["text"]["output"] * 2
    assert (reads.price_percent(usual), reads.price_percent(hour)) == (100, 150)


def test_a_window_that_is_withdrawn_before_the_quote_ends_the_job_in_words(
    acme: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = price_cards.current("scripted")
    assert card
    job = submit(acme, lines(1), **HOUR)
    monkeypatch.setattr("billing.price_cards.current", lambda _: msgspec.structs.replace(card, windows={}))
    assert validate(job).status == "failed"
    told = contents.failure(job)
    assert told
    assert "no longer offered with completion_window 1h" in told.reason
