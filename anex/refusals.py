"""Refusals that no view gives: unknown paths, failures of ours, and requests no table could be asked about."""

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.deprecation import MiddlewareMixin
from django.views import defaults

API_PATHS = ("/batch/", "/realtime/")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A page, or what programs read: the API answers JSON on every path below it."""
    if request.path.startswith(API_PATHS):
        return JsonResponse({"detail": "There is no such endpoint."}, status=404)
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """A page, or the same in JSON."""
    if request.path.startswith(API_PATHS):
        return JsonResponse({"detail": "Something went wrong on our side. Try again."}, status=500)
    return defaults.server_error(request)


class NulMiddleware(MiddlewareMixin):
    """Refuses NUL characters outside the body: Postgres takes none, so nothing they name can exist."""

    def process_request(self, request: HttpRequest) -> None:
        """404 for such a path, 400 for such a query or cookie; the APIs refuse it in their own words."""
        if request.path.startswith(API_PATHS):
            return
        if "\0" in request.path:
            raise Http404
        values = [value for _, found in request.GET.lists() for value in found]
        if any("\0" in value for value in (*request.GET, *values, *request.COOKIES.values())):
            raise BadRequest("A NUL character is in the query or in a cookie.")
