"""How a signed-in person reaches a console page: which organization they act for, and whether they may."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django_htmx.http import HttpResponseClientRefresh

from accounts.models import Organization, User
from accounts.permissions import Action, may
from accounts.selectors import memberships
from anex.core.actors import Actor
from anex.core.errors import Forbidden, NotFound

_OPEN_WHILE_SUSPENDED = frozenset(
    {Action.VIEW, Action.DOWNLOAD_RESULT, Action.CANCEL_JOB, Action.REVOKE_KEY, Action.MANAGE_BILLING}
)


@dataclass(frozen=True, slots=True)
class Member:
    """A person acting for an organization in a role."""

    user: User
    organization: Organization
    role: str

    @property
    def actor(self) -> Actor:
        """The doer to name in writes."""
        return Actor("user", str(self.user.pk))

    def may(self, action: Action) -> bool:
        """Whether the role includes the action and the organization is in a state to do it."""
        if self.organization.suspended_at and action not in _OPEN_WHILE_SUSPENDED:
            return False
        return may(self.role, action)


Page = Callable[Concatenate[HttpRequest, Member, ...], HttpResponse]


def member_page(action: Action) -> Callable[[Page], Callable[..., HttpResponse]]:
    """A view that takes `(request, member, …)` and needs `action`.

    A stranger is sent to sign in, a person without an organization to make one; a role without the action is
    403; NotFound and Forbidden of a service become the pages 404 and 403. Templates find `request.member`.
    """

    def decorate(view: Page) -> Callable[..., HttpResponse]:
        @wraps(view)
        def page(request: HttpRequest, **captured: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                return _sign_in(request)
            user = request.user
            membership = memberships.current(user.pk)
            if membership is None:
                return redirect("organization_new")
            member = Member(user, membership.organization, membership.role)
            request.member = member  # type: ignore[attr-defined]
            if not member.may(action):
                raise PermissionDenied
            try:
                return view(request, member, **captured)
            except NotFound as error:
                raise Http404(error.message) from error
            except Forbidden as error:
                raise PermissionDenied(error.message) from error

        return page

    return decorate


def _sign_in(request: HttpRequest) -> HttpResponse:
    """To the sign-in page; a fragment that outlived its session reloads the page around it instead."""
    if request.headers.get("HX-Request"):
        return HttpResponseClientRefresh()
    return redirect_to_login(request.get_full_path())
