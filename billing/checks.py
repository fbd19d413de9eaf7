"""System checks that stop the start: price cards that cannot be read, half of Stripe's settings."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error

from billing import price_cards


def price_cards_are_valid(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """One error per folder in which a file is not a list of price cards."""
    errors: list[CheckMessage] = []
    for folder in price_cards.folders():
        try:
            price_cards.load(folder)
        except ValueError as error:
            errors.append(Error(str(error), hint=f"Correct the file in {folder}.", id="billing.E001"))
    return errors


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
