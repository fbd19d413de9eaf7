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

SHOWN = 50
MOST_PAGES = 1000


@require_safe
@member_page(Action.MANAGE_WEBHOOKS)
def delivery_list(request: HttpRequest, member: Member, endpoint_id: UUID) -> HttpResponse:
    """An endpoint and its deliveries, the newest first."""
    endpoint = reads.endpoint(member.organization.pk, endpoint_id)
    form, page = DeliveryForm(request.GET), _page(request)
    found = reads.deliveries(endpoint, form.wanted(), offset=page * SHOWN, limit=SHOWN + 1)
    query = {name: value for name, value in request.GET.items() if value and name in form.fields}
    context = {
        "endpoint": endpoint,
        "form": form,
        "deliveries": found[:SHOWN],
        "query": urlencode(query),
        "older": urlencode(query | {"page": page + 1}) if len(found) > SHOWN else "",
        "paged": page > 0,
        "now": clock.now(),
    }
    return render(request, "webhooks/log.html", context, status=200 if form.is_valid() else 400)


@require_safe
@member_page(Action.MANAGE_WEBHOOKS)
def delivery_page(request: HttpRequest, member: Member, delivery_id: UUID) -> HttpResponse:
    """One delivery with its attempts and what the receiver answered."""
    delivery = reads.delivery(member.organization.pk, delivery_id)
    return render(request, "webhooks/delivery.html", {"delivery": delivery, "log": reads.attempts(delivery)})


@require_POST
@member_page(Action.MANAGE_WEBHOOKS)
def resend(request: HttpRequest, member: Member, delivery_id: UUID) -> HttpResponse:
    """Send an event again under the same id."""
    try:
        deliveries.resend(organization_id=member.organization.pk, delivery_id=delivery_id, actor=member.actor)
    except Conflict as error:
        messages.error(request, error.message)
    else:
        messages.success(request, "It is being sent again. Load the page again in a moment to see the answer.")
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
    messages.success(request, "A test is on its way. Load the page again in a moment to see the answer.")
    return redirect("webhook_delivery", delivery.pk)


def _page(request: HttpRequest) -> int:
    text = request.GET.get("page", "")
    return min(int(text), MOST_PAGES) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
