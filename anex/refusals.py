"""Refusals that no view gives: unknown paths, failures of ours, a database that is away, names no table could hold.

And what every answer of the APIs carries. Django's own pages read the form of the request once more, which may be what
cannot be read; ours do not.
"""

import logging
from typing import Any

from django.core.exceptions import BadRequest
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template import loader
from django.utils.deprecation import MiddlewareMixin

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
    told = InvalidRequest("This request cannot be read: its host, its query, its form or a header makes no sense.")
    return _in_json(request, told) or render(request, "400.html", status=400)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A page, or the same in JSON."""
    return _in_json(request, NotFound("There is no such endpoint.")) or render(request, "404.html", status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """A page, or the same in JSON."""
    told = AnexError("Something went wrong on our side. Try again.")
    return _in_json(request, told) or _failed(500)


def page(error: AnexError) -> str:
    """What a person reads of a request that was refused before it was read."""
    return loader.render_to_string("400.html", {"told": error.message})


def _failed(status: int) -> HttpResponse:
    """The page, without whatever may have failed."""
    return HttpResponse(loader.render_to_string("500.html"), status=status)


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
    """Answers for every view that the database or the store failed: 503 and a wait, in the words of the surface or as a
    page."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """The answer; None for every other exception."""
        if not isinstance(exception, OperationalError | InterfaceError | Unavailable):
            return None
        # What the driver says names the host.
        log.warning("a request could not be handled: %s", type(exception).__name__)
        told = Unavailable("The request could not be handled just now. Try again.", retry_after=1)
        answer = _in_json(request, told) or _failed(503)
        answer["Retry-After"] = "1"
        return answer

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """A page that a view gave with 503 says when to come back, too; what programs read has said what it knows."""
        if response.status_code == Unavailable.status and not request.path.startswith(API_PATHS):
            response.setdefault("Retry-After", "1")
        return response


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
