"""How a signed-in person reaches a console page: which organization they act for, and whether they may."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate
from uuid import UUID

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django_htmx.http import HttpResponseClientRefresh

from accounts.models import Membership, Organization, User
from accounts.permissions import Action, may
from accounts.selectors import freezes, memberships
from anex.core import log_ids
from anex.core.actors import Actor
from anex.core.errors import Forbidden, NotFound, Unavailable

_CURRENT = "organization_id"
_SAFE = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class Member:
    """A person acting for an organization in a role; `others` are the organizations they could switch to."""

    user: User
    organization: Organization
    role: str
    others: tuple[Organization, ...] = ()

    @property
    def actor(self) -> Actor:
        """The doer to name in writes."""
        return Actor("user", str(self.user.pk))

    def may(self, action: Action) -> bool:
        """Whether the role includes the action and the organization is in a state to do it."""
        return may(self.role, action, suspended=self.organization.suspended_at is not None)


Page = Callable[Concatenate[HttpRequest, Member, ...], HttpResponseBase]


def member_page(action: Action) -> Callable[[Page], Callable[..., HttpResponseBase]]:
    """A view that takes `(request, member, …)` and needs `action`.

    A stranger is sent to sign in, a person without an organization to make one; a role without the action is
    403; NotFound and Forbidden of a service become the pages 404 and 403. Templates find `request.member`. No cache
    keeps the page: it is not shown to who comes after a sign-out. Where staff has frozen the console, what changes
    something is 503.
    """

    def decorate(view: Page) -> Callable[..., HttpResponseBase]:
        @never_cache
        @wraps(view)
        def page(request: HttpRequest, **captured: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return _sign_in(request)
            member = acting(request)
            if member is None:
                return redirect("organization_new")
            log_ids.add(organization=member.organization.pk)
            request.member = member  # type: ignore[attr-defined]
            if not member.may(action):
                raise PermissionDenied
            try:
                if request.method not in _SAFE:
                    freezes.require_open("console")
                return view(request, member, **captured)
            except Unavailable as error:
                return _unavailable(request, error)
            except NotFound as error:
                raise Http404(error.message) from error
            except Forbidden as error:
                raise PermissionDenied(error.message) from error

        return page

    return decorate


def acting(request: HttpRequest) -> Member | None:
    """The signed-in person in the organization the session names, else in their oldest; None without any."""
    assert isinstance(request.user, User)
    mine = memberships.of_person(request.user.pk)
    if not mine:
        return None
    named = request.session.get(_CURRENT)
    current = next((membership for membership in mine if str(membership.organization_id) == named), mine[0])
    return Member(request.user, current.organization, current.role, _others(mine, current))


def switch(request: HttpRequest, organization_id: UUID) -> None:
    """Act for another organization from now on, in this session; NotFound for one the person is not in."""
    memberships.get(organization_id, int(request.user.pk or 0))
    request.session[_CURRENT] = str(organization_id)


def _others(mine: list[Membership], current: Membership) -> tuple[Organization, ...]:
    return tuple(membership.organization for membership in mine if membership.pk != current.pk)


def _unavailable(request: HttpRequest, error: Unavailable) -> HttpResponse:
    """What cannot be done now, as a page, or for a script of one as its `detail`."""
    answer: HttpResponse = JsonResponse({"detail": error.message})
    if "text/html" in request.headers.get("Accept", "text/html"):
        answer = render(request, "503.html", {"told": error.message})
    answer.status_code, answer["Retry-After"] = error.status, str(error.retry_after or 1)
    return answer


def _sign_in(request: HttpRequest) -> HttpResponse:
    """To the sign-in page; a fragment that outlived its session reloads the page around it instead."""
    if request.headers.get("HX-Request"):
        return HttpResponseClientRefresh()
    return redirect_to_login(request.get_full_path())
