"""The page of the rule that approves quotes without a person."""

from decimal import Decimal

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.access import Member, member_page
from accounts.permissions import Action
from anex.console.forms import AutoApproveForm
from anex.core.errors import Forbidden, InvalidRequest
from jobs.selectors import auto_approvals as reads
from jobs.services import auto_approvals


@require_http_methods(["GET", "POST"])
@member_page(Action.VIEW)
def auto_approve(request: HttpRequest, member: Member) -> HttpResponse:
    """Everybody sees the rule; who manages billing sets it."""
    may_change = member.may(Action.MANAGE_BILLING)
    rule = reads.rule(member.organization.pk)
    ceilings = {"max_job": rule.max_job_cents, "max_day": rule.max_day_cents}
    filled = {name: Decimal(cents) / 100 for name, cents in ceilings.items() if cents is not None}
    if request.method == "POST" and not may_change:
        raise Forbidden("Owners and admins change the rule.")
    data = request.POST if request.method == "POST" else None
    form = AutoApproveForm(data, initial={"enabled": rule.enabled, **filled})
    if form.is_valid():
        try:
            auto_approvals.configure(organization_id=member.organization.pk, actor=member.actor, **form.terms())
        except InvalidRequest as error:
            form.add_error(error.param, error.message)
        else:
            messages.success(request, f"Auto-approve is {'on' if form.terms()['enabled'] else 'off'}.")
            return redirect("auto_approve")
    context = {"form": form, "rule": rule, "may_change": may_change}
    return render(request, "console/jobs/auto_approve.html", context, status=400 if form.errors else 200)
