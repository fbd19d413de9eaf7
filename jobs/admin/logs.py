"""Tables below the row they tell of."""

from django.http import HttpRequest
from unfold.admin import TabularInline


class LogInline(TabularInline):  # type: ignore[misc]
    """Rows below the one they belong to, oldest first."""

    ordering = ("pk",)
    extra = 0
    can_delete = False
    hide_title = True

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """They are written by what they tell of."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """They are never edited."""
        return False
