"""Where gateways report: the raw body is verified, then applied. And the buttons of our own payment page."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import Member, member_page
from accounts.permissions import Action
from billing import gateways
from billing.gateways import local
from billing.gateways.interface import InvalidSignature
from billing.selectors import topups
from billing.services import payment_events


@csrf_exempt
@require_POST
def webhook(request: HttpRequest, gateway_name: str) -> HttpResponse:
    """Apply an event; answered 200 however often it comes. A wrong signature is 400 and changes nothing."""
    gateway = gateways.named(gateway_name)
    if gateway is None:
        raise Http404
    try:
        event = gateway.read_event(request.body, request.headers.get("Stripe-Signature", ""))
    except InvalidSignature as error:
        return JsonResponse({"detail": error.message}, status=error.status)
    if event:
        payment_events.apply(gateway.name, event)
    return JsonResponse({"received": True})


@require_http_methods(["GET", "POST"])
@member_page(Action.MANAGE_BILLING)
def local_payment(request: HttpRequest, member: Member, topup_id: UUID) -> HttpResponse:
    """Our own payment page: pay or decline. Its event takes the way of every gateway's."""
    topup = topups.get(member.organization.pk, topup_id)
    gateway = gateways.named(local.Local.name)
    if gateway is None or topup.gateway != gateway.name:
        raise Http404
    if request.method == "GET":
        return render(request, "billing/local_payment.html", {"topup": topup})
    paid, declines_later = request.POST.get("decision") == "pay", "declines_later" in request.POST
    event = gateway.read_event(*local.decide(topup_id, paid=paid, declines_later=declines_later))
    if event:
        payment_events.apply(gateway.name, event)
    return redirect("topup", topup_id=topup_id)
