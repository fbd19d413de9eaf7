"""Files of prices: versioned by their start, and refused whole when a line of them is wrong."""

from datetime import UTC, datetime

import pytest
from django.core import checks

from billing import price_cards
from billing.checks import price_cards_are_valid

TWO = """
- model: m
  starts_at: 2026-01-01T00:00:00Z
  text: {input: 1}
- model: m
  starts_at: 2026-06-01T00:00:00Z
  text: {input: 2}
"""


def load(folder, text):
    (folder / "m.yaml").write_text(text)
    return price_cards.load(folder).get("m", ())


@pytest.mark.parametrize(
    ("at", "rate"),
    [
        (datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC), None),
        (datetime(2026, 1, 1, tzinfo=UTC), 1),
        (datetime(2026, 5, 31, 23, 59, 59, tzinfo=UTC), 1),
        (datetime(2026, 6, 1, tzinfo=UTC), 2),
    ],
)
def test_a_card_is_in_force_from_its_start_until_the_next(tmp_path, at, rate):
    card = price_cards.in_force(load(tmp_path, TWO), at)
    assert (card and card.text.input) == rate


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[]", "at least one card"),
        ("{", "m.yaml"),
        (TWO + "  discount: 5\n", "unknown field `discount`"),
        (TWO.replace("input: 2", "input: 0.02"), "Expected `int`"),
        (TWO.replace("input: 2", "input: -2"), ">= 0"),
        (TWO.replace("input: 2", "input: .nan"), "Expected `int`"),
        (TWO.replace("input: 2", "input: 18446744073709551615"), "<= 1000000000000000"),
        (TWO.replace("input: 2", "input: 2, cached: 3"), "cached rate must not be above"),
        (TWO.replace("model: m\n  starts_at: 2026-06", "model: other\n  starts_at: 2026-06"), "must name the model m"),
        (TWO.replace("2026-06-01T00:00:00Z", "2026-06-01T00:00:00"), "needs a time zone"),
        (TWO.replace("2026-06", "2026-01"), "must start after"),
    ],
)
def test_a_wrong_file_is_refused_by_name(tmp_path, text, complaint):
    with pytest.raises(ValueError, match=complaint) as refusal:
        load(tmp_path, text)
    assert str(refusal.value).startswith("m.yaml")


def test_the_system_check_reports_a_wrong_file(db, tmp_path, monkeypatch):
    assert price_cards_are_valid(None) == []
    (tmp_path / "m.yaml").write_text("[]")
    monkeypatch.setattr(price_cards, "PRICES_DIR", tmp_path)
    (error,) = [found for found in checks.run_checks() if found.id == "billing.E001"]
    assert "m.yaml" in error.msg
