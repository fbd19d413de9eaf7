"""API keys: the list, making one, revoking one."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.access import Member, member_page
from accounts.forms import NameForm
from accounts.permissions import Action
from accounts.selectors import keys as key_reads
from accounts.services import keys
from anex.core.errors import Conflict, InvalidRequest


@require_safe
@member_page(Action.VIEW)
def key_list(request: HttpRequest, member: Member) -> HttpResponse:
    """Every key of the organization, and the form to make one."""
    return _list_page(request, member, NameForm())


@never_cache
@require_http_methods(["GET", "POST"])
@member_page(Action.CREATE_KEY)
def key_create(request: HttpRequest, member: Member) -> HttpResponse:
    """Make a key and show its secret in this one answer, which nothing may keep."""
    if request.method == "GET":
        return redirect("keys")
    form = NameForm(request.POST)
    if form.is_valid():
        try:
            made = keys.create(
                organization_id=member.organization.pk, name=form.cleaned_data["name"], actor=member.actor
            )
        except InvalidRequest as error:
            form.add_error("name", error.message)
        else:
            context = {"made": made, "name": form.cleaned_data["name"], "base_url": settings.ANEX_PUBLIC_URL}
            return render(request, "keys/created.html", context, status=201)
    return _list_page(request, member, form, status=400)


@require_http_methods(["GET", "POST"])
@member_page(Action.REVOKE_KEY)
def key_revoke(request: HttpRequest, member: Member, key_id: str) -> HttpResponse:
    """Ask, then revoke."""
    key = key_reads.get(member.organization.pk, key_id)
    if request.method == "GET":
        return render(request, "keys/revoke.html", {"key": key})
    try:
        keys.revoke(organization_id=member.organization.pk, key_id=key_id, actor=member.actor)
    except Conflict as error:
        messages.error(request, error.message)
    else:
        messages.success(request, f"“{key.name}” is revoked. Requests with it are refused from now on.")
    return redirect("keys")


def _list_page(request: HttpRequest, member: Member, form: NameForm, status: int = 200) -> HttpResponse:
    context = {
        "keys": key_reads.of(member.organization.pk),
        "form": form,
        "may_create": member.may(Action.CREATE_KEY),
        "may_revoke": member.may(Action.REVOKE_KEY),
    }
    return render(request, "keys/list.html", context, status=status)
