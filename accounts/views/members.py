"""Who is in the organization: the list, roles, removal, leaving, transfer of ownership."""

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import Member, member_page
from accounts.forms import InvitationForm, RoleForm
from accounts.permissions import ROLES, TABLE, Action, managing
from accounts.selectors import invitations as invitation_reads
from accounts.selectors import memberships as reads
from accounts.services import memberships
from anex.core import clock
from anex.core.errors import Conflict

SHOWN = 50


@require_safe
@member_page(Action.VIEW)
def member_list(request: HttpRequest, member: Member) -> HttpResponse:
    """Everybody in the organization, the open invitations, and what each role may do."""
    return list_page(request, member, InvitationForm())


@require_POST
@member_page(Action.MANAGE_MEMBERS)
def member_role(request: HttpRequest, member: Member, user_id: int) -> HttpResponse:
    """Give somebody another role."""
    target = reads.get(member.organization.pk, user_id)
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose owner, admin or member.")
        return redirect("members")
    role = form.cleaned_data["role"]
    try:
        memberships.change_role(organization_id=member.organization.pk, user_id=user_id, role=role, actor=member.actor)
    except Conflict as error:
        messages.error(request, error.message)
    else:
        messages.success(request, f"{target.user.email} is now {role}.")
    return redirect("members")


@require_http_methods(["GET", "POST"])
@member_page(Action.MANAGE_MEMBERS)
def member_remove(request: HttpRequest, member: Member, user_id: int) -> HttpResponse:
    """Ask, then take somebody out."""
    target = reads.get(member.organization.pk, user_id)
    if request.method == "GET":
        return render(request, "members/remove.html", {"target": target})
    try:
        memberships.remove(organization_id=member.organization.pk, user_id=user_id, actor=member.actor)
    except Conflict as error:
        messages.error(request, error.message)
    else:
        messages.success(request, f"{target.user.email} is no longer in {member.organization.name}.")
    return redirect("members")


@require_http_methods(["GET", "POST"])
@member_page(Action.LEAVE)
def member_leave(request: HttpRequest, member: Member) -> HttpResponse:
    """Ask, then take oneself out."""
    if request.method == "GET":
        return render(request, "members/leave.html")
    try:
        memberships.leave(organization_id=member.organization.pk, user_id=member.user.pk, actor=member.actor)
    except Conflict as error:
        messages.error(request, error.message)
        return redirect("members")
    messages.success(request, f"You have left {member.organization.name}.")
    return redirect("dashboard")


@require_http_methods(["GET", "POST"])
@member_page(Action.MANAGE_OWNERS)
def ownership_transfer(request: HttpRequest, member: Member, user_id: int) -> HttpResponse:
    """Ask, then make somebody else the owner in one's place."""
    target = reads.get(member.organization.pk, user_id)
    if request.method == "GET":
        return render(request, "members/transfer.html", {"target": target})
    try:
        memberships.transfer_ownership(organization_id=member.organization.pk, user_id=user_id, actor=member.actor)
    except Conflict as error:
        messages.error(request, error.message)
    else:
        messages.success(request, f"{target.user.email} is the owner now, and you are an admin.")
    return redirect("members")


def list_page(request: HttpRequest, member: Member, form: InvitationForm, status: int = 200) -> HttpResponse:
    """The list with a form to invite, which may carry a refusal."""
    roles = [role for role in ROLES if member.may(managing(role))]
    form.fields["role"].choices = [(role, role.capitalize()) for role in roles]  # type: ignore[attr-defined]
    find, after = request.GET.get("find", "").strip()[:254], request.GET.get("after", "")
    start = int(after) if after.isascii() and after.isdecimal() and len(after) < 19 else 0
    people = reads.of_organization(member.organization.pk, find=find, after=start, limit=SHOWN + 1)
    is_part = bool(find) or bool(start) or len(people) > SHOWN
    context = {
        "people": [(person, member.may(managing(person.role))) for person in people[:SHOWN]],
        "people_count": reads.count(member.organization.pk) if is_part else len(people),
        "find": find,
        "first_page": urlencode({"find": find}) if find else "",
        "more": urlencode({"find": find, "after": people[SHOWN - 1].pk}) if len(people) > SHOWN else "",
        "is_paged": bool(start),
        "roles": roles,
        "invitations": [
            (invitation, member.may(managing(invitation.role)))
            for invitation in invitation_reads.open_of(member.organization.pk)
        ],
        "now": clock.now(),
        "form": form,
        "table": [(rule, [(role.capitalize(), role in rule.roles) for role in ROLES]) for rule in TABLE],
        "may_transfer": member.may(Action.MANAGE_OWNERS),
    }
    return render(request, "members/list.html", context, status=status)
