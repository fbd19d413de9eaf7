"""Pages of payments: add credits, wait for the payment, its receipt, automatic top-ups."""

from datetime import timedelta
from uuid import UUID, uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import Member, member_page
from accounts.permissions import Action
from anex.core import clock
from anex.core.errors import AnexError, Conflict
from billing import gateways
from billing.forms import AutoTopupForm, TopupForm
from billing.models import Topup
from billing.selectors import balances
from billing.selectors import topups as reads
from billing.services import auto_topups, topups

# Longer than a gateway usually takes to tell.
SLOW = timedelta(minutes=30)


@require_http_methods(["GET", "POST"])
@member_page(Action.MANAGE_BILLING)
def add(request: HttpRequest, member: Member) -> HttpResponse:
    """Choose an amount, then off to the payment page."""
    form = TopupForm(request.POST if request.method == "POST" else None, initial={"topup_id": uuid4()})
    if form.is_valid():
        try:
            return redirect(
                topups.start(
                    organization_id=member.organization.pk,
                    topup_id=form.cleaned_data["topup_id"],
                    cents=form.cleaned_data["dollars"],
                    save_method=form.cleaned_data["save_method"],
                    actor=member.actor,
                )
            )
        except AnexError as error:
            form.add_error(error.param if error.param in form.fields else None, error.message)
    return _add_page(request, member, form, AutoTopupForm.of(reads.auto(member.organization.pk)))


@require_POST
@member_page(Action.MANAGE_BILLING)
def auto(request: HttpRequest, member: Member) -> HttpResponse:
    """Turn automatic top-ups on or off."""
    form = AutoTopupForm(request.POST)
    if form.is_valid():
        try:
            auto_topups.configure(organization_id=member.organization.pk, actor=member.actor, **form.terms())
        except AnexError as error:
            form.add_error(error.param if error.param in form.fields else None, error.message)
        else:
            messages.success(request, "Automatic top-ups are " + ("on." if form.terms()["enabled"] else "off."))
            return redirect("credits_add")
    return _add_page(request, member, TopupForm(initial={"topup_id": uuid4()}), form)


@require_POST
@member_page(Action.MANAGE_BILLING)
def forget_method(request: HttpRequest, member: Member) -> HttpResponse:
    """Forget the saved payment method; automatic top-ups end with it."""
    try:
        auto_topups.forget_method(organization_id=member.organization.pk, actor=member.actor)
    except Conflict as error:
        messages.error(request, error.message)
    else:
        messages.success(request, "The saved payment method is forgotten, and automatic top-ups are off.")
    return redirect("credits_add")


@require_safe
@member_page(Action.VIEW)
def topup(request: HttpRequest, member: Member, topup_id: UUID) -> HttpResponse:
    """Where a payment page leads back to: confirming until the payment is booked."""
    found = topups.confirm(organization_id=member.organization.pk, topup_id=topup_id)
    template = "billing/topup_live.html" if request.headers.get("HX-Request") else "billing/topup.html"
    context = {
        "topup": found,
        "state": Topup.State,
        "balance": balances.get(member.organization.pk),
        "is_slow": clock.now() - found.created_at > SLOW,
    }
    return render(request, template, context)


@require_safe
@member_page(Action.VIEW)
def receipt(request: HttpRequest, member: Member, topup_id: UUID) -> HttpResponse:
    """A payment on one printable page."""
    return render(request, "billing/receipt.html", {"receipt": reads.receipt(member.organization.pk, topup_id)})


def _add_page(request: HttpRequest, member: Member, form: TopupForm, auto_form: AutoTopupForm) -> HttpResponse:
    organization_id, month = member.organization.pk, auto_topups.month_of(clock.now())
    context = {
        "form": form,
        "auto_form": auto_form,
        "auto": reads.auto(organization_id),
        "month": month,
        "month_cents": reads.automatic_since(organization_id, month),
        "gateway": gateways.configured(),
        "balance": balances.get(member.organization.pk),
    }
    return render(request, "billing/add.html", context, status=400 if form.errors or auto_form.errors else 200)
