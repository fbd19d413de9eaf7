"""API keys: the list with what each has spent, making one, limiting, rotating and revoking it."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import Member, member_page
from accounts.models import ApiKey
from accounts.permissions import Action
from accounts.selectors import keys as reads
from accounts.selectors import memberships
from accounts.services import keys
from anex.console.key_forms import KeyForm, RevokeForm, RotateForm
from anex.core import clock
from anex.core.errors import AnexError, Conflict, NotFound
from billing import price_cards
from billing.ceilings import Spent
from billing.selectors import key_spend
from inference import catalogue

PAGE = 50
# How many people are named to a member who needs a key.
MANAGERS = 5
# How long before its end a key is said to expire soon.
SOON = timedelta(days=7)


@require_safe
@member_page(Action.VIEW)
def key_list(request: HttpRequest, member: Member) -> HttpResponse:
    """Every key of the organization, and the form to make one."""
    return _list_page(request, member, _form(member))


@require_http_methods(["GET", "POST"])
@member_page(Action.CREATE_KEY)
def key_create(request: HttpRequest, member: Member) -> HttpResponse:
    """Make a key and show its secret in this one answer, which nothing may keep."""
    if request.method == "GET":
        return redirect("keys")
    form = _form(member, request.POST)
    if form.is_valid():
        try:
            made = keys.create(
                organization_id=member.organization.pk,
                name=form.cleaned_data["name"],
                options=form.options(),
                actor=member.actor,
            )
        except AnexError as error:
            form.refuse(error)
        else:
            return _shown(request, made, form.cleaned_data["name"])
    return _list_page(request, member, form, status=400)


@require_http_methods(["GET", "POST"])
@member_page(Action.CREATE_KEY)
def key_edit(request: HttpRequest, member: Member, key_id: str) -> HttpResponse:
    """Another name, other limits."""
    key = reads.get(member.organization.pk, key_id)
    form = _form(member, request.POST if request.method == "POST" else None, key=key)
    if form.is_valid():
        try:
            keys.change(
                organization_id=member.organization.pk,
                key_id=key_id,
                name=form.cleaned_data["name"],
                options=form.options(),
                actor=member.actor,
            )
        except NotFound:
            raise
        except AnexError as error:
            form.refuse(error)
        else:
            messages.success(request, f"“{form.cleaned_data['name']}” is changed, from the next request on.")
            return redirect("keys")
    return render(request, "keys/edit.html", {"key": key, "form": form}, status=400 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@member_page(Action.CREATE_KEY)
def key_rotate(request: HttpRequest, member: Member, key_id: str) -> HttpResponse:
    """Ask how long the former secret shall work, then show the new one in this one answer."""
    key = reads.get(member.organization.pk, key_id)
    form = RotateForm(request.POST or None)
    if form.is_valid():
        overlap = timedelta(hours=int(form.cleaned_data["overlap"]))
        try:
            made = keys.rotate(
                organization_id=member.organization.pk, key_id=key_id, overlap=overlap, actor=member.actor
            )
        except Conflict as error:
            messages.error(request, error.message)
            return redirect("keys")
        return _shown(request, made, key.name)
    return render(request, "keys/rotate.html", {"key": key, "form": form}, status=400 if form.errors else 200)


@require_POST
@member_page(Action.REVOKE_KEY)
def key_end_overlap(request: HttpRequest, member: Member, key_id: str) -> HttpResponse:
    """Refuse the secret before the last rotation from now on."""
    key = reads.get(member.organization.pk, key_id)
    try:
        keys.end_overlap(organization_id=member.organization.pk, key_id=key_id, actor=member.actor)
    except Conflict as error:
        messages.error(request, error.message)
    else:
        messages.success(request, f"The former secret of “{key.name}” is refused from now on.")
    return redirect("keys")


@require_http_methods(["GET", "POST"])
@member_page(Action.REVOKE_KEY)
def key_revoke(request: HttpRequest, member: Member, key_id: str) -> HttpResponse:
    """Ask for the key's name, then revoke."""
    key = reads.get(member.organization.pk, key_id)
    form = RevokeForm(request.POST if request.method == "POST" else None, name=key.name)
    if not form.is_valid():
        return render(request, "keys/revoke.html", {"key": key, "form": form}, status=400 if form.errors else 200)
    try:
        keys.revoke(organization_id=member.organization.pk, key_id=key_id, actor=member.actor)
    except Conflict as error:
        messages.error(request, error.message)
    else:
        messages.success(request, f"“{key.name}” is revoked. Requests with it are refused from now on.")
    return redirect("keys")


def _form(member: Member, data: Any = None, key: ApiKey | None = None) -> KeyForm:
    known = [model.id for model in catalogue.all_models() if model.is_for(member.organization.pk)]
    sold = [model_id for model_id in known if price_cards.current(model_id)]
    kept = key.allowed_models or [] if key else []
    return KeyForm(data, models=sorted({*sold, *kept}), key=key)


def _shown(request: HttpRequest, made: keys.NewKey, name: str) -> HttpResponse:
    context = {"made": made, "name": name, "base_url": settings.ANEX_PUBLIC_URL}
    return render(request, "keys/created.html", context, status=201)


def _list_page(request: HttpRequest, member: Member, form: KeyForm, status: int = 200) -> HttpResponse:
    now, revoked = clock.now(), request.GET.get("show") == "revoked"
    page = reads.page(member.organization.pk, revoked=revoked, after=request.GET.get("after", ""), size=PAGE)
    spent = key_spend.of([key.pk for key in page.keys], at=now)
    may_create = member.may(Action.CREATE_KEY)
    context = {
        "keys": [_line(key, spent.get(key.pk, Spent())) for key in page.keys],
        "older": page.older,
        "revoked": revoked,
        "is_first_page": "after" not in request.GET,
        "has_any": bool(page.keys) or reads.has_any(member.organization.pk),
        "now": now,
        "soon": now + SOON,
        "form": form,
        "may_create": may_create,
        "may_revoke": member.may(Action.REVOKE_KEY),
        "managers": [] if may_create else memberships.managers(member.organization.pk, MANAGERS),
    }
    return render(request, "keys/list.html", context, status=status)


def _line(key: ApiKey, spent: Spent) -> dict[str, Any]:
    ceilings = [
        ("day", key.daily_ceiling_cents, spent.day_nano),
        ("week", key.weekly_ceiling_cents, spent.week_nano),
        ("month", key.monthly_ceiling_cents, spent.month_nano),
    ]
    return {
        "key": key,
        "month_nano": spent.month_nano,
        "ceilings": [
            {"period": period, "cents": cents, "spent_nano": nano, "percent": min(100, nano // (cents * 100_000))}
            for period, cents, nano in ceilings
            if cents
        ],
    }
