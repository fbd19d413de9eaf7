"""System check: a price card that cannot be read stops the start with the file's name."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error

from billing import price_cards


def price_cards_are_valid(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """One error where a file in `billing/prices/` is not a list of price cards."""
    try:
        price_cards.load(price_cards.PRICES_DIR)
    except ValueError as error:
        return [Error(str(error), hint="Correct the file in billing/prices/.", id="billing.E001")]
    return []
