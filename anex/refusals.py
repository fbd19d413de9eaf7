"""Refusals that no view gives: unknown paths, failures of ours, a database that is away, names no table could hold.

And what every answer of the APIs carries.
"""

import logging
from typing import Any

from django.core.exceptions import BadRequest
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.deprecation import MiddlewareMixin
from django.views import defaults

from anex.core import log_ids, openai_errors, tracing
from anex.core.errors import AnexError, InvalidRequest, NotFound, Unavailable

log = logging.getLogger(__name__)

DETAIL_PATHS = ("/batch/", "/realtime/")
# Their clients read errors as OpenAI's library does.
OPENAI_PATHS = ("/v1/", "/openai/")
API_PATHS = DETAIL_PATHS + OPENAI_PATHS
_JOB, _ID_LENGTH = "jobs/<", 36


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A page, or what programs read: the APIs answer JSON on every path below them."""
    told = InvalidRequest("This request cannot be read: its host, its query or a header makes no sense.")
    return _in_json(request, told) or defaults.bad_request(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A page, or the same in JSON."""
    return _in_json(request, NotFound("There is no such endpoint.")) or defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """A page, or the same in JSON."""
    told = AnexError("Something went wrong on our side. Try again.")
    return _in_json(request, told) or defaults.server_error(request)


def in_json(path: str, error: AnexError) -> dict[str, Any] | None:
    """The body in which the API of this path tells an error; None where people read."""
    if path.startswith(OPENAI_PATHS):
        return {"error": openai_errors.of(error)}
    return {"detail": error.message} if path.startswith(API_PATHS) else None


def _in_json(request: HttpRequest, error: AnexError) -> JsonResponse | None:
    body = in_json(request.path, error)
    return None if body is None else JsonResponse(body, status=error.status)


class RequestIdMiddleware(MiddlewareMixin):
    """Names every answer of the APIs, as raw handlers do, and in the log the job that a path is about."""

    def process_view(self, request: HttpRequest, view: object, args: object, captured: dict[str, Any]) -> None:
        """Lines of this request tell the job from here on."""
        match = request.resolver_match
        if match:
            tracing.note({"http.route": match.route})
        if match and _JOB in match.route and (job := captured.get("job_id") or captured.get("id")):
            log_ids.add(job=str(job)[:_ID_LENGTH])

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """The answer with its `x-request-id`."""
        if request.path.startswith(API_PATHS):
            response.setdefault("x-request-id", log_ids.request_id())
        return response


class DatabaseAwayMiddleware(MiddlewareMixin):
    """Answers for every view that the database failed: 503 and a wait, in the words of the surface or as a page."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """The answer; None for every other exception."""
        if not isinstance(exception, OperationalError | InterfaceError):
            return None
        # What the driver says names the host.
        log.warning("the database is away: %s", type(exception).__name__)
        told = Unavailable("The request could not be handled just now. Try again.", retry_after=1)
        answer = _in_json(request, told) or defaults.server_error(request)
        answer.status_code = 503
        answer["Retry-After"] = "1"
        return answer


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
