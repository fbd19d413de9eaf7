"""`manage.py roles`: writes docs/roles.md from the permission table."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from accounts import permissions


class Command(BaseCommand):
    """The page is kept in the repository; a test compares it with the table."""

    help = "Write docs/roles.md from the permission table."

    def handle(self, **_options: Any) -> None:
        """Overwrite the page."""
        (settings.BASE_DIR / "docs" / "roles.md").write_text(permissions.page())
