"""The DRF edge of the `{"detail": …}` surfaces: key authentication and the one renderer of errors."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, TooManyFieldsSent
from django.http import Http404
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.callers import Caller
from accounts.services import keys
from anex.core.errors import AnexError, TooLarge, Unauthenticated, Unavailable, Unprocessable

_UNPROCESSABLE = 422
_UNAVAILABLE_RETRY_S = 1


class KeyAuthentication(BaseAuthentication):
    """Sets `request.auth` to the Caller of the API key; there is no `request.user` on these surfaces."""

    def authenticate(self, request: Request) -> tuple[None, Caller]:
        """Raises Unprocessable (422) without a header (reference 001, errors), else as `keys.authenticate`."""
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            raise keys.missing()
        return None, keys.authenticate(header)

    def authenticate_header(self, request: Request) -> str:
        """The challenge of a 401."""
        return "Bearer"


class AlwaysJson(DefaultContentNegotiation):
    """These surfaces speak JSON alone: what a client would rather have is no reason to refuse it."""

    def select_renderer(
        self, request: Request, renderers: Iterable[Any], format_suffix: str | None = None
    ) -> tuple[Any, str]:
        """The one there is."""
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Render our errors and DRF's as `{"detail": sentence}`; anything else stays a server error.

    A body that does not fit the endpoint's shape is 422 (reference 001, errors), not DRF's 400.
    """
    error = named(error)
    if isinstance(error, AnexError):
        return _render(error)
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    if not isinstance(error, exceptions.APIException):
        return None
    misshapen = isinstance(error, exceptions.ValidationError | exceptions.ParseError)
    wait = getattr(error, "wait", None)
    return Response(
        {"detail": sentence(error.detail)},
        status=_UNPROCESSABLE if misshapen else error.status_code,
        headers={"Retry-After": str(math.ceil(wait))} if wait else None,
    )


def named(error: Exception, *, misshapen: type[AnexError] = Unprocessable) -> Exception:
    """Our error for what Django refuses of a request before a view sees it; anything else as it is."""
    if isinstance(error, RequestDataTooBig):
        return TooLarge("The body of this request is too large: files are uploaded, not sent here.")
    if isinstance(error, TooManyFieldsSent):
        return misshapen("The query has too many parameters.")
    return error


def sentence(detail: Any) -> str:
    """Every message of a DRF error as one sentence that names the fields, e.g. `model is required.`"""
    said = "; ".join(_messages(detail, ""))
    return said if said.endswith((".", "!", "?")) else f"{said}."


def _messages(detail: Any, path: str) -> Iterator[str]:
    if isinstance(detail, dict):
        for field, inner in detail.items():
            yield from _messages(inner, _below(path, field))
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            yield from _messages(inner, _below(path, index) if isinstance(inner, dict | list) else path)
    else:
        yield _message(detail, path)


def _below(path: str, name: str | int) -> str:
    if name == "non_field_errors":
        return path
    return f"{path}[{name}]" if isinstance(name, int) else f"{path}.{name}".lstrip(".")


def _message(detail: Any, path: str) -> str:
    text = str(detail).rstrip(".")
    if not path:
        return text
    if getattr(detail, "code", "") == "required":
        return f"{path} is required"
    if getattr(detail, "code", "") == "null":
        return f"{path} may not be null"
    return f"{path}: {text[:1].lower()}{text[1:]}"


def _render(error: AnexError) -> Response:
    if error.code in ("org_suspended", "frozen"):
        body: dict[str, Any] = {"error": error.code, "message": error.message, **error.extra}
    else:
        body = {"detail": error.message, **error.extra}
    headers = {}
    wait = error.retry_after
    if wait is None and isinstance(error, Unavailable):
        wait = _UNAVAILABLE_RETRY_S
    if wait is not None:
        headers["Retry-After"] = str(wait)
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    return Response(body, status=error.status, headers=headers)
