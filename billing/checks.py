"""System checks that stop the start: price cards that cannot be read, half of Stripe's settings."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error

from billing import price_cards


def price_cards_are_valid(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """One error where a file in `billing/prices/` is not a list of price cards."""
    try:
        price_cards.load(price_cards.PRICES_DIR)
    except ValueError as error:
        return [Error(str(error), hint="Correct the file in billing/prices/.", id="billing.E001")]
    return []


def stripe_is_whole(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """One error where Stripe would take payments whose events nobody could verify."""
    if settings.ANEX_STRIPE_SECRET_KEY and not settings.ANEX_STRIPE_WEBHOOK_SECRET:
        return [
            Error(
                "ANEX_STRIPE_SECRET_KEY is set and ANEX_STRIPE_WEBHOOK_SECRET is not.",
                hint="Set the signing secret of the webhook endpoint /billing/webhooks/stripe.",
                id="billing.E002",
            )
        ]
    return []
