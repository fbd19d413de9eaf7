"""Views of the OpenAI-compatible host: key authentication, and errors as `{"error": {"message", "type", "code"}}`."""

from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.callers import Caller
from accounts.drf import KeyAuthentication, named, sentence
from accounts.services import keys
from anex.core.errors import AnexError, InvalidRequest, Unauthenticated
from anex.core.openai_errors import error_object


class BearerKey(KeyAuthentication):
    """Sets `request.auth` to the Caller; a missing header is 401 on this host."""

    def authenticate(self, request: Request) -> tuple[None, Caller]:
        """Raises as `keys.authenticate`."""
        return None, keys.authenticate(request.META.get("HTTP_AUTHORIZATION"))


class OpenAIView(APIView):
    """The base of the views; they read `request.auth` and raise AnexError."""

    authentication_classes = [BearerKey]
    # The generated description is the batch API's.
    schema = None

    def handle_exception(self, exc: Exception) -> Response:
        """Every refusal in OpenAI's shape."""
        exc = named(exc, misshapen=InvalidRequest)
        if isinstance(exc, AnexError):
            return _render(exc.status, exc.message, exc.code, exc)
        if isinstance(exc, APIException):
            return _render(exc.status_code, sentence(exc.detail), str(exc.default_code), None)
        raise exc


def _render(status: int, message: str, code: str, error: AnexError | None) -> Response:
    param, extra = (error.param, error.extra) if error else (None, None)
    body = {"error": error_object(status, message, code, param=param, extra=extra)}
    headers = {}
    if error and error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    return Response(body, status=status, headers=headers)
