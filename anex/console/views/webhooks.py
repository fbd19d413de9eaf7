"""Webhooks: the list of endpoints, adding one, changing, rotating, switching and deleting it."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import Member, member_page
from accounts.permissions import Action
from anex.console.webhook_forms import EndpointForm
from anex.core import clock
from anex.core.errors import AnexError, Conflict, NotFound
from jobs.selectors import webhooks as reads
from jobs.services import endpoints
from jobs.services.endpoints import NewSecret
from jobs.webhooks import MEANINGS


@require_safe
@member_page(Action.MANAGE_WEBHOOKS)
def endpoint_list(request: HttpRequest, member: Member) -> HttpResponse:
    """Every endpoint of the organization, and the form to add one."""
    return _list_page(request, member, EndpointForm())


@require_http_methods(["GET", "POST"])
@member_page(Action.MANAGE_WEBHOOKS)
def endpoint_create(request: HttpRequest, member: Member) -> HttpResponse:
    """Add an endpoint and show its secret in this one answer, which nothing may keep."""
    if request.method == "GET":
        return redirect("webhooks")
    form = EndpointForm(request.POST)
    if form.is_valid():
        try:
            made = endpoints.create(organization_id=member.organization.pk, wishes=form.wishes(), actor=member.actor)
        except AnexError as error:
            form.refuse(error)
        else:
            return _shown(request, made, rotated=False)
    return _list_page(request, member, form, status=400)


@require_http_methods(["GET", "POST"])
@member_page(Action.MANAGE_WEBHOOKS)
def endpoint_edit(request: HttpRequest, member: Member, endpoint_id: UUID) -> HttpResponse:
    """Another address, filter or description."""
    endpoint = reads.endpoint(member.organization.pk, endpoint_id)
    given = {"url": endpoint.url, "description": endpoint.description, "events": endpoint.events}
    form = EndpointForm(request.POST if request.method == "POST" else None, initial=given)
    if form.is_valid():
        try:
            endpoints.change(
                organization_id=member.organization.pk,
                endpoint_id=endpoint_id,
                wishes=form.wishes(),
                actor=member.actor,
            )
        except NotFound:
            raise
        except AnexError as error:
            form.refuse(error)
        else:
            messages.success(request, "The endpoint is changed.")
            return redirect("webhook_log", endpoint_id)
    context = {"endpoint": endpoint, "form": form}
    return render(request, "webhooks/edit.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@member_page(Action.MANAGE_WEBHOOKS)
def endpoint_rotate(request: HttpRequest, member: Member, endpoint_id: UUID) -> HttpResponse:
    """Ask, then show the new secret in this one answer."""
    endpoint = reads.endpoint(member.organization.pk, endpoint_id)
    if request.method == "GET":
        return render(request, "webhooks/rotate.html", {"endpoint": endpoint, "now": clock.now()})
    made = endpoints.rotate(organization_id=member.organization.pk, endpoint_id=endpoint_id, actor=member.actor)
    return _shown(request, made, rotated=True)


@require_POST
@member_page(Action.MANAGE_WEBHOOKS)
def endpoint_end_overlap(request: HttpRequest, member: Member, endpoint_id: UUID) -> HttpResponse:
    """Stop signing with the secret before the last rotation."""
    return _switch(request, member, endpoint_id, endpoints.end_overlap, "Only the new secret signs from now on.")


@require_POST
@member_page(Action.MANAGE_WEBHOOKS)
def endpoint_enable(request: HttpRequest, member: Member, endpoint_id: UUID) -> HttpResponse:
    """Send again what happens from now on."""
    return _switch(request, member, endpoint_id, endpoints.enable, "The endpoint is told of what happens from now on.")


@require_POST
@member_page(Action.MANAGE_WEBHOOKS)
def endpoint_disable(request: HttpRequest, member: Member, endpoint_id: UUID) -> HttpResponse:
    """Send nothing more."""
    return _switch(
        request, member, endpoint_id, endpoints.disable, "The endpoint is disabled; what waited is cancelled."
    )


@require_http_methods(["GET", "POST"])
@member_page(Action.MANAGE_WEBHOOKS)
def endpoint_delete(request: HttpRequest, member: Member, endpoint_id: UUID) -> HttpResponse:
    """Ask, then delete."""
    endpoint = reads.endpoint(member.organization.pk, endpoint_id)
    if request.method == "GET":
        return render(request, "webhooks/delete.html", {"endpoint": endpoint})
    endpoints.delete(organization_id=member.organization.pk, endpoint_id=endpoint_id, actor=member.actor)
    messages.success(request, "The endpoint is deleted; what waited is cancelled.")
    return redirect("webhooks")


def _switch(
    request: HttpRequest, member: Member, endpoint_id: UUID, change: Callable[..., None], done: str
) -> HttpResponse:
    try:
        change(organization_id=member.organization.pk, endpoint_id=endpoint_id, actor=member.actor)
    except Conflict as error:
        messages.error(request, error.message)
    else:
        messages.success(request, done)
    return redirect("webhook_log", endpoint_id)


def _shown(request: HttpRequest, made: NewSecret, *, rotated: bool) -> HttpResponse:
    context = {"made": made, "rotated": rotated}
    return render(request, "webhooks/secret.html", context, status=200 if rotated else 201)


def _list_page(request: HttpRequest, member: Member, form: EndpointForm, status: int = 200) -> HttpResponse:
    found = reads.endpoints(member.organization.pk)
    context = {
        "endpoints": found,
        "form": form,
        "most": endpoints.MOST_ENDPOINTS,
        "events": [(event, meaning.replace("`", "")) for event, meaning in MEANINGS.items()],
        "now": clock.now(),
    }
    return render(request, "webhooks/list.html", context, status=status)
