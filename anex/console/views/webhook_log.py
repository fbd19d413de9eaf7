"""What became of the events of an endpoint: its deliveries, each attempt, sending again and sending a test."""

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.access import Member, member_page
from accounts.permissions import Action
from anex.console.webhook_forms import DeliveryForm
from anex.core import clock
from anex.core.errors import Conflict
from jobs.selectors import webhooks as reads
from jobs.services import deliveries
from jobs.webhooks import DeliveryState

SHOWN = 50


@require_safe
@member_page(Action.MANAGE_WEBHOOKS)
def delivery_list(request: HttpRequest, member: Member, endpoint_id: UUID) -> HttpResponse:
    """An endpoint and its deliveries, the newest first."""
    endpoint = reads.endpoint(member.organization.pk, endpoint_id)
    form, before = DeliveryForm(request.GET), _before(request)
    found = reads.deliveries(endpoint, form.wanted(), before=before, limit=SHOWN + 1)
    query = {name: value for name, value in request.GET.items() if value and name in form.fields}
    context = {
        "endpoint": endpoint,
        "form": form,
        "deliveries": found[:SHOWN],
        "query": urlencode(query),
        "older": urlencode(query | {"before": str(found[SHOWN - 1].pk)}) if len(found) > SHOWN else "",
        "paged": before is not None,
        "is_moving": before is None and any(delivery.state == DeliveryState.PENDING for delivery in found[:SHOWN]),
        "now": clock.now(),
    }
    template = "webhooks/deliveries.html" if request.headers.get("HX-Request") else "webhooks/log.html"
    return render(request, template, context, status=200 if form.is_valid() else 400)


@require_safe
@member_page(Action.MANAGE_WEBHOOKS)
def delivery_page(request: HttpRequest, member: Member, delivery_id: UUID) -> HttpResponse:
    """One delivery with its attempts and what the receiver answered."""
    delivery = reads.delivery(member.organization.pk, delivery_id)
    template = "webhooks/attempts.html" if request.headers.get("HX-Request") else "webhooks/delivery.html"
    return render(request, template, {"delivery": delivery, "log": reads.attempts(delivery)})


@require_POST
@member_page(Action.MANAGE_WEBHOOKS)
def resend(request: HttpRequest, member: Member, delivery_id: UUID) -> HttpResponse:
    """Send an event again under the same id."""
    try:
        deliveries.resend(organization_id=member.organization.pk, delivery_id=delivery_id, actor=member.actor)
    except Conflict as error:
        messages.error(request, error.message)
    else:
        messages.success(request, "It is being sent again. The answer appears below.")
    return redirect("webhook_delivery", delivery_id)


@require_POST
@member_page(Action.MANAGE_WEBHOOKS)
def send_test(request: HttpRequest, member: Member, endpoint_id: UUID) -> HttpResponse:
    """Send a `test` event."""
    try:
        delivery = deliveries.send_test(
            organization_id=member.organization.pk, endpoint_id=endpoint_id, actor=member.actor
        )
    except Conflict as error:
        messages.error(request, error.message)
        return redirect("webhook_log", endpoint_id)
    messages.success(request, "A test is on its way. The answer appears below.")
    return redirect("webhook_delivery", delivery.pk)


def _before(request: HttpRequest) -> UUID | None:
    try:
        return UUID(request.GET.get("before", ""))
    except ValueError:
        return None
