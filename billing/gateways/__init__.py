"""How money comes in: one interface, Stripe where its keys are configured, else our own payment page where allowed."""

from functools import cache

from django.conf import settings

from billing.gateways.interface import Gateway
from billing.gateways.local import Local


def configured() -> Gateway | None:
    """The gateway that top-ups go through; None where an installation takes no payments online."""
    if settings.ANEX_STRIPE_SECRET_KEY:
        return _stripe(
            settings.ANEX_STRIPE_SECRET_KEY, settings.ANEX_STRIPE_WEBHOOK_SECRET, settings.ANEX_STRIPE_API_BASE
        )
    return Local() if settings.ANEX_LOCAL_PAYMENTS else None


def named(name: str) -> Gateway | None:
    """The configured gateway if it has this name."""
    gateway = configured()
    return gateway if gateway and gateway.name == name else None


@cache
def _stripe(secret_key: str, webhook_secret: str, api_base: str) -> Gateway:
    from billing.gateways.stripe import Stripe

    return Stripe(secret_key=secret_key, webhook_secret=webhook_secret, api_base=api_base)
