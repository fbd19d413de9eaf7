"""Customers for staff: organizations, plans, people, keys and the audit record, all read-only."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from unfold.decorators import action, display
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from accounts.models import Alert, ApiKey, AuditEvent, Freeze, Organization, Plan, User
from accounts.plans import MAX_BURST, MAX_OUTPUT_TOKENS, SURFACES, PlanTerms
from accounts.services import freezes, keys, organizations, people, plans
from anex.core.actors import Actor
from anex.core.errors import AnexError
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


class GivePlanForm(ReasonForm):
    """Which plan an organization is put on, and why."""

    plan = forms.ModelChoiceField(
        Plan.objects.order_by("name"), required=False, empty_label="The default plan", widget=UnfoldAdminSelectWidget
    )
    field_order = ("plan", "reason")


class PlanForm(ReasonForm):
    """The terms of a plan and why they are what they are."""

    name = forms.CharField(max_length=100, widget=UnfoldAdminTextInputWidget)
    surfaces = forms.MultipleChoiceField(
        required=False,
        choices=[(surface, surface) for surface in SURFACES],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="What the keys may use. A surface that is not ticked refuses every POST with 403.",
    )
    burst = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_BURST,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="Requests the keys may send at once. Empty is the installation’s limit.",
    )
    max_output_tokens = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_OUTPUT_TOKENS,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="The longest answer. Empty is the model’s.",
    )
    field_order = ("slug", "name", "surfaces", "burst", "max_output_tokens", "reason")


class NewPlanForm(PlanForm):
    """A plan and its slug, which stays."""

    slug = forms.SlugField(max_length=plans.MAX_SLUG_LENGTH, widget=UnfoldAdminTextInputWidget)


def _terms(slug: str, form: dict[str, Any]) -> PlanTerms:
    return PlanTerms(slug, form["name"], frozenset(form["surfaces"]), form["burst"], form["max_output_tokens"])


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
    fields = ("id", "name", "created_at", "suspended_at", "plan", "in_flight_limit", "eu_routing", "people")
    ordering = ("-created_at",)
    actions_detail = ("suspend", "resume", "limit", "give_plan", "route_to_eu", "route_to_world")

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

    @action(description="Give a plan", url_path="plan", permissions=["act"])  # type: ignore[untyped-decorator]
    def give_plan(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """What the organization's keys may do."""
        return self.ask(
            request,
            object_id,
            title="Give a plan",
            explanation="The organization's keys are bound by the plan from their next request on.",
            form_class=GivePlanForm,
            initial=lambda row: {"plan": row.plan},
            change=lambda row, actor, reason, plan: plans.give(
                organization_id=row.pk, plan_id=plan and plan.pk, actor=actor, reason=reason
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


@admin.register(Plan)
class PlanAdmin(ReadOnlyAdmin):
    """What is sold to whom: surfaces, burst and output ceiling."""

    list_display = ("name", "slug", "is_default", "surfaces", "burst", "max_output_tokens")
    fields = ("slug", "name", "is_default", "surfaces", "burst", "max_output_tokens")
    search_fields = ("name", "slug")
    ordering = ("name",)
    actions_list = ("new",)
    actions_detail = ("edit", "make_default")

    @action(description="New plan", url_path="new", permissions=["act"])  # type: ignore[untyped-decorator]
    def new(self, request: HttpRequest) -> HttpResponse:
        """Make a plan."""
        form = NewPlanForm(request.POST if request.method == "POST" else None, initial={"surfaces": SURFACES})
        if form.is_valid():
            given = form.cleaned_data
            try:
                plans.create(
                    terms=_terms(given["slug"], given),
                    actor=Actor("staff", str(request.user.pk)),
                    reason=given["reason"],
                )
            except AnexError as error:
                form.add_error(error.param if error.param in form.fields else None, error.message)
            else:
                messages.success(request, "The plan is there. No organization is on it yet.")
                return redirect("admin:accounts_plan_changelist")
        back = reverse("admin:accounts_plan_changelist")
        explanation = "Organizations are put on it one by one, or all that have no plan of their own."
        return self.form_page(request, form, title="New plan", explanation=explanation, back=back)

    @action(description="Change", url_path="edit", permissions=["act"])  # type: ignore[untyped-decorator]
    def edit(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Other terms."""
        return self.ask(
            request,
            object_id,
            title="Change",
            explanation="Every organization on the plan is bound by the new terms from its next request on.",
            form_class=PlanForm,
            initial=lambda row: {name: getattr(row, name) for name in PlanForm.base_fields if name != "reason"},
            change=lambda row, actor, reason, **terms: plans.change(
                plan_id=row.pk, terms=_terms(row.slug, terms), actor=actor, reason=reason
            ),
        )

    @action(description="Make default", url_path="default", permissions=["act"])  # type: ignore[untyped-decorator]
    def make_default(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """For every organization without a plan of its own."""
        return self.ask(
            request,
            object_id,
            title="Make default",
            explanation="Every organization without a plan of its own is on this one from its next request on.",
            change=lambda row, actor, reason: plans.make_default(plan_id=row.pk, actor=actor, reason=reason),
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


@admin.register(Alert)
class AlertAdmin(ReadOnlyAdmin):
    """E-mails about what happened, newest first; one without a time of sending waits, or was given up."""

    list_display = ("raised_at", "kind", "subject", "organization", "attempts", "sent_at")
    list_filter = ("kind", ("sent_at", admin.EmptyFieldListFilter))
    list_select_related = ("organization",)
    search_fields = ("subject", "organization__name")
    fields = ("raised_at", "kind", "subject", "crossing", "organization", "attempts", "next_attempt_at", "sent_at")
    ordering = ("-pk",)


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
