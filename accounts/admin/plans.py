"""Plans for staff: made, changed, and made the default."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from unfold.decorators import action
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminTextInputWidget,
)

from accounts.models import Plan
from accounts.plans import MAX_BURST, MAX_HISTORY_BYTES, MAX_OUTPUT_TOKENS, SURFACES, PlanTerms
from accounts.services import plans
from anex.core.actors import Actor
from anex.core.errors import AnexError
from anex.core.staff import ReadOnlyAdmin, ReasonForm


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
        help_text="Requests the keys may send in a second. Empty is the installation’s limit.",
    )
    max_output_tokens = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_OUTPUT_TOKENS,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="The longest answer. Empty is the model’s.",
    )
    history_budget_bytes = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_HISTORY_BYTES,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="How many bytes of a conversation are sent to the model under /openai/v1. Empty is all of it.",
    )
    field_order = ("slug", "name", "surfaces", "burst", "max_output_tokens", "history_budget_bytes", "reason")


class NewPlanForm(PlanForm):
    """A plan and its slug, which stays."""

    slug = forms.SlugField(max_length=plans.MAX_SLUG_LENGTH, widget=UnfoldAdminTextInputWidget)


@admin.register(Plan)
class PlanAdmin(ReadOnlyAdmin):
    """What is sold to whom: surfaces, burst and output ceiling."""

    list_display = ("name", "slug", "is_default", "surfaces", "burst", "max_output_tokens", "history_budget_bytes")
    fields = ("slug", "name", "is_default", "surfaces", "burst", "max_output_tokens", "history_budget_bytes")
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


def _terms(slug: str, form: dict[str, Any]) -> PlanTerms:
    return PlanTerms(
        slug,
        form["name"],
        frozenset(form["surfaces"]),
        form["burst"],
        form["max_output_tokens"],
        form["history_budget_bytes"],
    )
