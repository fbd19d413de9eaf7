"""Everything that is set for an organization, in one place."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.access import Member, member_page
from accounts.alert_kinds import Kind
from accounts.forms import NameForm
from accounts.permissions import Action
from accounts.selectors import memberships, plans
from accounts.services import organizations
from anex.core.errors import InvalidRequest
from billing.selectors import balance_alerts
from jobs.selectors import auto_approvals


@require_safe
@member_page(Action.VIEW)
def settings_page(request: HttpRequest, member: Member) -> HttpResponse:
    """Name, rules, alerts, routing and plan; everybody sees them, each form is for who may use it."""
    return render(
        request, "console/settings.html", _context(member, NameForm(initial={"name": member.organization.name}))
    )


@require_POST
@member_page(Action.RENAME)
def rename(request: HttpRequest, member: Member) -> HttpResponse:
    """Give the organization another name."""
    form = NameForm(request.POST)
    if form.is_valid():
        try:
            organizations.rename(
                organization_id=member.organization.pk, name=form.cleaned_data["name"], actor=member.actor
            )
        except InvalidRequest as error:
            form.add_error("name", error.message)
        else:
            messages.success(request, "Renamed.")
            return redirect("settings")
    return render(request, "console/settings.html", _context(member, form), status=400)


def _context(member: Member, form: NameForm) -> dict[str, Any]:
    organization_id = member.organization.pk
    muted = memberships.get(organization_id, member.user.pk).muted_alerts
    return {
        "form": form,
        "may_rename": member.may(Action.RENAME),
        "may_manage": member.may(Action.MANAGE_BILLING),
        "may_transfer": member.may(Action.MANAGE_OWNERS),
        "rule": auto_approvals.rule(organization_id),
        "alerts_on": sum(kind not in muted for kind in Kind),
        "alerts": len(Kind),
        "threshold_cents": balance_alerts.threshold_cents(organization_id),
        "has_eu": settings.ANEX_REGION == "eu" or bool(settings.ANEX_OTHER_REGION_URL),
        "plan": plans.of(organization_id),
    }
