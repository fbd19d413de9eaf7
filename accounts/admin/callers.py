"""Who calls, for staff: people and keys."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from unfold.decorators import action

from accounts.models import ApiKey, User
from accounts.services import keys, people
from anex.core.staff import ReadOnlyAdmin


@admin.register(User)
class UserAdmin(ReadOnlyAdmin):
    """People who sign in."""

    list_display = ("email", "is_active", "is_staff", "date_joined", "last_login")
    list_filter = ("is_staff", "is_active")
    search_fields = ("email",)
    fields = ("email", "is_active", "is_staff", "is_superuser", "date_joined", "last_login")
    ordering = ("-date_joined",)
    actions_detail = ("reset_second_factor",)

    @action(  # type: ignore[untyped-decorator]
        description="Remove second factors", url_path="reset-second-factor", permissions=["act"]
    )
    def reset_second_factor(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """For somebody who lost every one of them, and has shown who they are."""
        return self.ask(
            request,
            object_id,
            title="Remove second factors",
            explanation="Authenticator app, passkeys and recovery codes are removed, and every session is ended. "
            "The person signs in with the password alone until they set up new ones.",
            change=lambda row, actor, reason: people.reset_second_factor(user_id=row.pk, actor=actor, reason=reason),
        )


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    """Keys, without anything that could be used as one."""

    list_display = ("name", "id", "organization", "created_at", "last_used_at", "revoked_at")
    list_filter = (("revoked_at", admin.EmptyFieldListFilter),)
    list_select_related = ("organization",)
    search_fields = ("id", "name", "organization__name")
    fields = (
        *("id", "name", "organization", "last_four", "created_by", "created_at", "last_used_at", "revoked_at"),
        *("scopes", "allowed_models", "expires_at", "rotated_at", "previous_expires_at"),
        *("daily_ceiling_cents", "weekly_ceiling_cents", "monthly_ceiling_cents"),
    )
    ordering = ("-created_at",)
    actions_detail = ("revoke",)

    @action(description="Revoke", url_path="revoke", permissions=["act"])  # type: ignore[untyped-decorator]
    def revoke(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Refuse the key."""
        return self.ask(
            request,
            object_id,
            title="Revoke",
            explanation="Requests with this key are refused from now on. This cannot be undone.",
            change=lambda row, actor, reason: keys.revoke(
                organization_id=row.organization_id, key_id=row.pk, actor=actor, reason=reason
            ),
        )
