"""Customers for staff: organizations, people, keys and the audit record, all read-only."""

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from accounts.models import ApiKey, AuditEvent, Freeze, Organization, User
from accounts.services import freezes, keys, organizations, people
from anex.core.staff import ReadOnlyAdmin, ReasonForm


class LimitForm(ReasonForm):
    """An in-flight limit and why."""

    limit = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=organizations.MAX_IN_FLIGHT,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="Empty is the installation’s default.",
    )
    field_order = ("limit", "reason")


# These come with editable pages of their libraries; what they hold is changed by its owners.
LIBRARIES = ("auth", "account", "mfa", "usersessions", "socialaccount")
for _model in [model for model in admin.site._registry if model._meta.app_label in LIBRARIES]:
    admin.site.unregister(_model)


@admin.register(Organization)
class OrganizationAdmin(ReadOnlyAdmin):
    """Customers, and the switch that refuses their keys."""

    list_display = ("name", "id", "state", "created_at")
    list_filter = (("suspended_at", admin.EmptyFieldListFilter),)
    search_fields = ("name", "id", "memberships__user__email")
    fields = ("id", "name", "created_at", "suspended_at", "in_flight_limit", "eu_routing", "people")
    ordering = ("-created_at",)
    actions_detail = ("suspend", "resume", "limit", "route_to_eu", "route_to_world")

    @display(description="State", label={"suspended": "danger", "active": "success"})  # type: ignore[untyped-decorator]
    def state(self, organization: Organization) -> str:
        """Whether its keys are accepted."""
        return "suspended" if organization.suspended_at else "active"

    @admin.display(description="Members")
    def people(self, organization: Organization) -> str:
        """Everyone in it with their role."""
        members = organization.memberships.select_related("user").order_by("created_at")
        return ", ".join(f"{member.user.email} ({member.role})" for member in members)

    @action(description="Suspend", url_path="suspend", permissions=["act"])  # type: ignore[untyped-decorator]
    def suspend(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Refuse the organization's keys."""
        return self.ask(
            request,
            object_id,
            title="Suspend",
            explanation="Every key of the organization is refused from now on; running jobs finish.",
            change=lambda row, actor, reason: organizations.suspend(organization_id=row.pk, actor=actor, reason=reason),
        )

    @action(description="Resume", url_path="resume", permissions=["act"])  # type: ignore[untyped-decorator]
    def resume(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Accept the organization's keys again."""
        return self.ask(
            request,
            object_id,
            title="Resume",
            explanation="The organization's keys are accepted again from now on.",
            change=lambda row, actor, reason: organizations.resume(organization_id=row.pk, actor=actor, reason=reason),
        )

    @action(description="Set in-flight limit", url_path="limit", permissions=["act"])  # type: ignore[untyped-decorator]
    def limit(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """How many realtime requests the organization may have at once."""
        return self.ask(
            request,
            object_id,
            title="Set in-flight limit",
            explanation="The most realtime requests the organization may have at once, from now on.",
            form_class=LimitForm,
            change=lambda row, actor, reason, limit: organizations.limit_in_flight(
                organization_id=row.pk, limit=limit, actor=actor, reason=reason
            ),
        )

    @action(  # type: ignore[untyped-decorator]
        description="Turn EU data routing on", url_path="route-to-eu", permissions=["act"]
    )
    def route_to_eu(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Keep new batch data in the EEA."""
        return self._route(
            request, object_id, True, "New inputs and jobs are kept and run in the EEA unless a request says world."
        )

    @action(  # type: ignore[untyped-decorator]
        description="Turn EU data routing off", url_path="route-to-world", permissions=["act"]
    )
    def route_to_world(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Keep new batch data in the world region."""
        return self._route(
            request, object_id, False, "New inputs and jobs go to the world region. What is in the EEA stays there."
        )

    def _route(self, request: HttpRequest, object_id: str, enabled: bool, explanation: str) -> HttpResponse:
        return self.ask(
            request,
            object_id,
            title=f"Turn EU data routing {'on' if enabled else 'off'}",
            explanation=explanation,
            change=lambda row, actor, reason: organizations.route_to_eu(
                organization_id=row.pk, enabled=enabled, actor=actor, reason=reason
            ),
        )


@admin.register(Freeze)
class FreezeAdmin(ReadOnlyAdmin):
    """The switch of each API."""

    list_display = ("surface", "state", "frozen_at")
    actions_detail = ("freeze", "open_again")

    @display(description="State", label={"frozen": "danger", "open": "success"})  # type: ignore[untyped-decorator]
    def state(self, freeze: Freeze) -> str:
        """Whether its calls are answered."""
        return "frozen" if freeze.frozen_at else "open"

    @action(description="Freeze", url_path="freeze", permissions=["act"])  # type: ignore[untyped-decorator]
    def freeze(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Refuse its calls."""
        return self.ask(
            request,
            object_id,
            title="Freeze",
            explanation="Its calls are answered with 503 from the next second on, but for an input's status and "
            "results. Jobs go on running.",
            change=lambda row, actor, reason: freezes.switch(surface=row.pk, frozen=True, actor=actor, reason=reason),
        )

    @action(description="Open again", url_path="open", permissions=["act"])  # type: ignore[untyped-decorator]
    def open_again(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Answer its calls."""
        return self.ask(
            request,
            object_id,
            title="Open again",
            explanation="Its calls are answered again from the next second on.",
            change=lambda row, actor, reason: freezes.switch(surface=row.pk, frozen=False, actor=actor, reason=reason),
        )


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


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    """Who did what, newest first."""

    list_display = ("at", "action", "actor", "target", "organization", "reason")
    list_filter = ("actor_kind", "action")
    list_select_related = ("organization",)
    search_fields = ("actor_id", "target", "organization__name", "reason")
    fields = ("at", "action", "actor", "target", "organization", "reason")
    ordering = ("-at", "-id")

    @admin.display(ordering="actor_id")
    def actor(self, event: AuditEvent) -> str:
        """Kind and id."""
        return f"{event.actor_kind}:{event.actor_id}"
