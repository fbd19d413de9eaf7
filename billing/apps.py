"""Django application of billing."""

from django.apps import AppConfig
from django.core.checks import register


class BillingConfig(AppConfig):
    name = "billing"
    verbose_name = "Money"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from billing.checks import price_cards_are_valid, stripe_is_whole

        register(price_cards_are_valid)
        register(stripe_is_whole)
