"""Views of the OpenAI-compatible host: key authentication, and errors as `{"error": {"message", "type", "code"}}`."""

from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.callers import Caller
from accounts.drf import KeyAuthentication, named, sentence
from accounts.services import keys
from anex.core import openai_errors
from anex.core.errors import AnexError, InvalidRequest
from anex.core.retrying import headers


class BearerKey(KeyAuthentication):
    """Sets `request.auth` to the Caller; a missing header is 401 on this host."""

    def authenticate(self, request: Request) -> tuple[None, Caller]:
        """Raises as `keys.authenticate`."""
        return None, keys.authenticate(request.META.get("HTTP_AUTHORIZATION"))


class OpenAIView(APIView):
    """The base of the views; they read `request.auth` and raise AnexError."""

    authentication_classes = [BearerKey]
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    # The generated description is the batch API's.
    schema = None

    def handle_exception(self, exc: Exception) -> Response:
        """Every refusal in OpenAI's shape."""
        exc = named(exc, misshapen=InvalidRequest)
        if isinstance(exc, AnexError):
            told = {name.decode(): value.decode() for name, value in headers(exc)}
            return Response({"error": openai_errors.of(exc)}, status=exc.status, headers=told)
        if isinstance(exc, APIException):
            error = openai_errors.error_object(exc.status_code, sentence(exc.detail), str(exc.default_code))
            return Response({"error": error}, status=exc.status_code)
        raise exc
