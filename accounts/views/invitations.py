"""Inviting somebody, and the page behind the link in the e-mail."""

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts import access
from accounts.access import Member, member_page
from accounts.forms import InvitationForm
from accounts.models import Invitation, User
from accounts.permissions import Action
from accounts.selectors import freezes, memberships
from accounts.selectors import invitations as reads
from accounts.services import invitations
from accounts.signup import INVITATION
from accounts.views.members import list_page
from anex.core.errors import AnexError, Conflict, Forbidden, NotFound, TooManyRequests, Unavailable


@require_http_methods(["GET", "POST"])
@member_page(Action.MANAGE_MEMBERS)
def invitation_new(request: HttpRequest, member: Member) -> HttpResponse:
    """Send an invitation; a refusal comes back in the form."""
    if request.method == "GET":
        return redirect("members")
    form = InvitationForm(request.POST)
    if form.is_valid():
        given = form.cleaned_data
        try:
            invitations.create(
                organization_id=member.organization.pk, email=given["email"], role=given["role"], actor=member.actor
            )
        except Forbidden:
            raise
        except AnexError as error:
            form.add_error("email", error.message)
        else:
            messages.success(request, f"An invitation is on its way to {given['email']}.")
            return redirect("members")
    return list_page(request, member, form, status=400)


@require_POST
@member_page(Action.MANAGE_MEMBERS)
def invitation_resend(request: HttpRequest, member: Member, invitation_id: UUID) -> HttpResponse:
    """Send a fresh link; the former one stops working."""
    try:
        sent = invitations.resend(
            organization_id=member.organization.pk, invitation_id=invitation_id, actor=member.actor
        )
    except TooManyRequests as error:
        messages.error(request, error.message)
    else:
        messages.success(request, f"A new link is on its way to {sent.email}.")
    return redirect("members")


@require_POST
@member_page(Action.MANAGE_MEMBERS)
def invitation_revoke(request: HttpRequest, member: Member, invitation_id: UUID) -> HttpResponse:
    """Take an invitation back."""
    taken = invitations.revoke(organization_id=member.organization.pk, invitation_id=invitation_id, actor=member.actor)
    messages.success(request, f"The invitation of {taken.email} is taken back.")
    return redirect("members")


@never_cache
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """What is offered, for somebody who is signed in or not; a POST accepts it."""
    try:
        offer = reads.by_token(token)
    except NotFound as error:
        raise Http404(error.message) from error
    if not request.user.is_authenticated:
        return _stranger(request, offer)
    user = request.user
    if request.method == "POST":
        return _accept(request, offer, user)
    if any(mine.organization_id == offer.organization_id for mine in memberships.of_person(user.pk)):
        access.switch(request, offer.organization_id)
        return redirect("dashboard")
    return _page(request, offer, fits=invitations.owns_address(user.pk, offer.email))


def _stranger(request: HttpRequest, offer: Invitation) -> HttpResponse:
    """Somebody not signed in: signing up from here joins this organization instead of making one."""
    if request.method == "GET":
        request.session[INVITATION] = str(offer.pk)
        return _page(request, offer, fits=False)
    return redirect(request.path)


def _accept(request: HttpRequest, offer: Invitation, user: User) -> HttpResponse:
    try:
        freezes.require_open("console")
        invitations.accept(invitation_id=offer.pk, user_id=user.pk)
    except (Conflict, Unavailable) as error:
        messages.error(request, error.message)
        return redirect(request.path)
    except Forbidden as error:
        raise PermissionDenied(error.message) from error
    access.switch(request, offer.organization_id)
    messages.success(request, f"Welcome to {offer.organization.name}.")
    return redirect("dashboard")


def _page(request: HttpRequest, offer: Invitation, *, fits: bool) -> HttpResponse:
    try:
        invitations.refuse_closed(offer)
        closed = ""
    except Conflict as error:
        closed = error.message
    return render(request, "members/invitation.html", {"offer": offer, "fits": fits, "closed": closed})
