"""Which e-mails a member gets from the organization."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.access import Member, member_page
from accounts.alert_kinds import Kind
from accounts.forms import AlertsForm
from accounts.permissions import Action
from accounts.selectors import memberships as reads
from accounts.services import memberships


@require_http_methods(["GET", "POST"])
@member_page(Action.VIEW)
def alerts(request: HttpRequest, member: Member) -> HttpResponse:
    """One's own choice, for the organization one acts for."""
    organization_id, user_id = member.organization.pk, member.user.pk
    muted = reads.get(organization_id, user_id).muted_alerts
    form = AlertsForm(
        request.POST if request.method == "POST" else None,
        initial={"wanted": [str(kind) for kind in Kind if kind not in muted]},
    )
    if form.is_valid():
        memberships.choose_alerts(
            organization_id=organization_id, user_id=user_id, wanted=form.cleaned_data["wanted"], actor=member.actor
        )
        messages.success(request, "Saved.")
        return redirect("alerts")
    return render(request, "members/alerts.html", {"form": form}, status=400 if form.errors else 200)
