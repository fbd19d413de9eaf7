"""Refusals that no view gives: unknown paths, failures of ours, and requests no table could be asked about."""

from http import HTTPStatus
from typing import Any

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.deprecation import MiddlewareMixin
from django.views import defaults

DETAIL_PATHS = ("/batch/", "/realtime/")
# Their clients read errors as OpenAI's library does.
OPENAI_PATHS = ("/v1/", "/openai/")
API_PATHS = DETAIL_PATHS + OPENAI_PATHS


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A page, or what programs read: the APIs answer JSON on every path below them."""
    answer = _in_json(request, 400, "This request cannot be read: its host, its query or a header makes no sense.")
    return answer or defaults.bad_request(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A page, or the same in JSON."""
    return _in_json(request, 404, "There is no such endpoint.") or defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """A page, or the same in JSON."""
    answer = _in_json(request, 500, "Something went wrong on our side. Try again.")
    return answer or defaults.server_error(request)


def _in_json(request: HttpRequest, status: int, message: str) -> JsonResponse | None:
    body: dict[str, Any] = {"detail": message}
    if request.path.startswith(OPENAI_PATHS):
        kind = "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
        body = {"error": {"message": message, "type": kind, "code": HTTPStatus(status).name.lower(), "param": None}}
    return JsonResponse(body, status=status) if request.path.startswith(API_PATHS) else None


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
