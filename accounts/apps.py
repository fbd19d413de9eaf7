"""Django application of accounts."""

from django.apps import AppConfig
from django.contrib.admin import apps as admin


class StaffConfig(admin.AdminConfig):
    """The admin, with the staff site as the one that every app registers with."""

    default = False
    default_site = "accounts.staff_site.StaffSite"


class AccountsConfig(AppConfig):
    default = True
    name = "accounts"
    verbose_name = "Customers"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Let drf-spectacular know the key scheme, and the audit record what people change about signing in."""
        from accounts import events, openapi  # noqa: F401
