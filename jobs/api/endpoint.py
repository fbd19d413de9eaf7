"""What every endpoint of the batch API shares: who calls, how a body and an id are read, what is answered besides."""

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, cast
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.callers import Caller
from accounts.selectors import freezes
from accounts.services import bursts
from anex.core.errors import InsufficientQuota, Unprocessable
from jobs.api.errors import refusals

# A repetition cannot change these answers unless they say when, or might do a second time what a failure has done. SDKs
# resend a 409 and a 500: they are told not to.
FINAL = frozenset({402, 409, 500})
JOB_ID = OpenApiParameter("id", UUID, OpenApiParameter.PATH, description="The job, as createJob answered it.")


class Endpoint(APIView):
    """An API key of the organization speaks for the caller. While the API is frozen only what `answers_frozen` does."""

    answers_frozen: ClassVar[bool] = False
    # OPTIONS would describe the views, and openapi.json describes the API.
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]

    @property
    def caller(self) -> Caller:
        """Who calls; authentication has refused everybody else before a handler runs."""
        return cast(Caller, self.request.auth)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuses what is frozen or beyond the plan, and a key without the scope `batch:read` or `batch:write`."""
        super().initial(request, *args, **kwargs)
        check_access(self.caller, request.method or "", answers_frozen=self.answers_frozen)

    def handle_exception(self, exc: Exception) -> Response:
        """Marks the refusals that a repetition cannot change."""
        response = super().handle_exception(exc)
        final = response.status_code in FINAL and "Retry-After" not in response
        final = final or isinstance(exc, InsufficientQuota)
        if final and self.request.method == "POST":
            response["x-should-retry"] = "false"
        return response


def check_access(caller: Caller, method: str, *, answers_frozen: bool) -> None:
    """Refuse what is frozen or beyond the plan, and a key without the scope `batch:read` or `batch:write`."""
    if not answers_frozen:
        freezes.require_open("batch")
    bursts.take(organization_id=caller.organization_id, burst=caller.plan.burst)
    if method == "POST":
        caller.require_surface("batch")
    caller.require_scope("batch:read" if method in SAFE_METHODS else "batch:write")


def answers(status: int, body: Any, meaning: str, *errors: int) -> dict[int, Any]:
    """What the API description says is answered: `body`, these errors, and those of every call."""
    return {status: OpenApiResponse(body, description=meaning)} | refusals(*errors)


def validated(serializer: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    """The fields a body gives; whatever does not fit the endpoint's shape is 422."""
    try:
        body = request.data
    except RecursionError as error:
        raise Unprocessable("The body is nested too deeply.") from error
    checked = serializer(data=body)
    checked.is_valid(raise_exception=True)
    return dict(checked.validated_data)


def id_in_path(text: str, refuse_unknown: Callable[[], NoReturn]) -> UUID:
    """The id a path names; text that is no id names nothing, so it is refused as an unknown one is."""
    try:
        return UUID(text)
    except ValueError:
        refuse_unknown()
