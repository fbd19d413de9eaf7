"""The staff area behind the console's own sign-in and a second factor."""

from allauth.account.adapter import get_adapter
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from unfold.sites import UnfoldAdminSite

from accounts import second_factor
from accounts.models import User


class StaffSite(UnfoldAdminSite):  # type: ignore[misc]
    """The admin, for staff whose session passed a second factor; there is no sign-in page of its own."""

    def has_permission(self, request: HttpRequest) -> bool:
        """Active staff with a second factor, used in this session."""
        user = request.user
        return (
            isinstance(user, User)
            and user.is_active
            and user.is_staff
            and second_factor.is_set_up(user)
            and second_factor.is_confirmed(request, user)
        )

    def login(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        """Onwards to whatever is missing: signing in, setting up a second factor, or using it."""
        target = request.GET.get(REDIRECT_FIELD_NAME) or reverse("admin:index")
        user = request.user
        if not isinstance(user, User):
            return redirect_to_login(target, reverse("account_login"))
        if not user.is_staff:
            raise PermissionDenied("The staff area is for the people who run this installation.")
        if not second_factor.is_set_up(user):
            messages.warning(request, "The staff area needs a second factor. Set one up, then open it again.")
            return redirect("mfa_index")
        if not second_factor.is_confirmed(request, user):
            return redirect(f"{_confirmation(user)}?{urlencode({REDIRECT_FIELD_NAME: target})}")
        return redirect("admin:index")

    def logout(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        """Signing out is the console's."""
        return redirect("account_logout")

    def password_change(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        """So is the password."""
        return redirect("account_change_password")


def _confirmation(user: User) -> str:
    """The page that asks for the person's second factor."""
    methods = get_adapter().get_reauthentication_methods(user)
    return str(next(method["url"] for method in methods if method["id"].startswith("mfa_")))
