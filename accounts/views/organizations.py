"""The organization of a person who has none, another one, and switching between them."""

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts import access
from accounts.forms import NameForm
from accounts.models import User
from accounts.selectors import freezes
from accounts.services import organizations
from anex.core.actors import Actor
from anex.core.errors import InvalidRequest, NotFound, Unavailable


@require_http_methods(["GET", "POST"])
@login_required
def organization_new(request: HttpRequest) -> HttpResponse:
    """An organization of one's own: the first, or one more."""
    user_id = cast(User, request.user).pk
    form = NameForm(request.POST or None)
    if form.is_valid():
        try:
            freezes.require_open("console")
            made = organizations.create(
                name=form.cleaned_data["name"], owner_id=user_id, actor=Actor("user", str(user_id))
            )
        except (InvalidRequest, Unavailable) as error:
            form.add_error("name", error.message)
        else:
            access.switch(request, made.pk)
            return redirect("dashboard")
    return render(request, "members/organization_new.html", {"form": form, "member": access.acting(request)})


@require_POST
@login_required
def organization_switch(request: HttpRequest, organization_id: UUID) -> HttpResponse:
    """Act for another of one's organizations from now on."""
    try:
        access.switch(request, organization_id)
    except NotFound as error:
        raise Http404(error.message) from error
    messages.success(request, "Switched.")
    return redirect("dashboard")
