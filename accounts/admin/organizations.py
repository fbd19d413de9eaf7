"""Organizations for staff: suspension, in-flight limit, plan and EU data routing."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html_join
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget

from accounts.models import Organization, Plan
from accounts.services import organizations, plans
from anex.core import overview
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


@admin.register(Organization)
class OrganizationAdmin(ReadOnlyAdmin):
    """Customers, and the switch that refuses their keys."""

    list_display = ("name", "id", "state", "created_at")
    list_filter = (("suspended_at", admin.EmptyFieldListFilter),)
    search_fields = ("name", "id", "memberships__user__email")
    fields = (
        "id",
        "name",
        "created_at",
        "suspended_at",
        "plan",
        "in_flight_limit",
        "eu_routing",
        "people",
    )
    ordering = ("-created_at",)
    change_form_before_template = "admin/about_organization.html"
    actions_detail = ("suspend", "resume", "limit", "give_plan", "route_to_eu", "route_to_world")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The page, with the organization's balance, keys, jobs and more as links."""
        row = self.get_object(request, object_id)
        facts = overview.of(request, row.pk) if row else []
        context = (extra_context or {}) | {"facts": facts}
        answer: HttpResponse = super().change_view(request, object_id, form_url, context)
        return answer

    @display(description="State", label={"suspended": "danger", "active": "success"})  # type: ignore[untyped-decorator]
    def state(self, organization: Organization) -> str:
        """Whether its keys are accepted."""
        return "suspended" if organization.suspended_at else "active"

    @admin.display(description="Members")
    def people(self, organization: Organization) -> str:
        """Everyone in it with their role."""
        members = organization.memberships.select_related("user").order_by("created_at")
        told = (
            (reverse("admin:accounts_user_change", args=[member.user_id]), member.user.email, member.role)
            for member in members
        )
        return format_html_join("", '<p><a class="underline" href="{}">{}</a> ({})</p>', told)

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
