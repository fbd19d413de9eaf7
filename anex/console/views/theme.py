"""Light, dark, or as the system says: kept in a cookie, so that the server draws the first pixel right."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from anex.console.context import THEMES

YEAR_S = 365 * 24 * 3600


# Anybody's page may have the switch without a token: a forged request could change colours alone.
@csrf_exempt
@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Keeps the colours this browser wants, then goes back to where it was."""
    back = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()})
    # A path, and nothing that `redirect` would take for the name of a view.
    answer = HttpResponseRedirect(back if is_ours and back.startswith("/") else "/")
    if (chosen := request.POST.get("theme", "")) in THEMES:
        answer.set_cookie(
            "theme", chosen, max_age=YEAR_S, samesite="Lax", httponly=True, secure=settings.SESSION_COOKIE_SECURE
        )
    else:
        answer.delete_cookie("theme", samesite="Lax")
    return answer
