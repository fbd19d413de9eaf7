"""Django application of accounts."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "Customers"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Let drf-spectacular know the key scheme."""
        from accounts import openapi  # noqa: F401
