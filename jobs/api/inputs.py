"""The input endpoints of the batch API (references 001 and 003, /inputs)."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import (
    OpenApiCallback,
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    extend_schema_field,
)
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from anex.core import clock
from anex.core.errors import InvalidRequest, Unavailable
from jobs.api.endpoint import Endpoint, answers, id_in_path, validated
from jobs.api.errors import REGIONS
from jobs.api.schemas import OPTIONAL
from jobs.models import Input
from jobs.selectors import contents
from jobs.selectors import inputs as selectors
from jobs.services import ingests, inputs
from jobs.storage.interface import UploadTarget

STATES = [state.value for state in Input.State]


@extend_schema_field({"type": "string", "format": "uri"})
class UriField(serializers.RegexField):
    """Anything with a scheme; whether we go there is judged later (400, not 422)."""

    def __init__(self, **options: Any) -> None:
        super().__init__(r"^[A-Za-z][A-Za-z0-9+.-]*:", **options)


class CreateInputRequestSerializer(serializers.Serializer[Any]):
    """What an input is created from. A null field counts as left out; an unknown one is ignored."""

    source_url = UriField(
        **OPTIONAL, help_text="The https URL to copy the file from. Left out, a target to upload it to is answered."
    )
    format = serializers.ChoiceField(
        **OPTIONAL,
        choices=inputs.FORMATS,
        help_text="Format of the file; a direct upload must name it, of a copy the end of its URL does.",
    )
    callback_url = UriField(
        **OPTIONAL, help_text="The https URL that is told when the copy has ended. Goes with source_url only."
    )
    data_residency = serializers.ChoiceField(
        **OPTIONAL,
        choices=REGIONS,
        help_text="Where the file is kept. Left out, eu for an organization with EU data routing, else world.",
    )

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Leaves out what is null."""
        if not isinstance(data, dict):
            raise serializers.ValidationError({"non_field_errors": ["The body must be a JSON object."]})
        given: dict[str, Any] = super().to_internal_value({k: v for k, v in data.items() if v is not None})
        return given


class InputSerializer(serializers.Serializer[Any]):
    """The reference's Input. `upload_url`, `fields` and `callback_secret` are answered once, on create."""

    id = serializers.UUIDField(help_text="What a job names the input by.")
    status = serializers.ChoiceField(choices=STATES)
    input_s3_uri = serializers.CharField(help_text="The file's name in the store; a job may give it instead of the id.")
    error = serializers.CharField(allow_null=True, required=False, help_text="Why the copy of a failed input failed.")
    callback_secret = serializers.CharField(
        allow_null=True, required=False, help_text="What the callback is signed with; answered once, on create."
    )
    upload_url = serializers.CharField(allow_null=True, required=False, help_text="Where to post the file to.")
    fields = serializers.DictField(  # type: ignore[assignment]  # the reference's name; DRF moves it out of the way
        child=serializers.CharField(),
        allow_null=True,
        required=False,
        help_text="Form fields to send before the file; answered once, on create.",
    )
    expires_at = serializers.DateTimeField(
        allow_null=True, required=False, help_text="End of the upload window or, once ready, of the file's seven days."
    )


class InputCallbackDataSerializer(serializers.Serializer[Any]):
    """What became of the input."""

    id = serializers.CharField(help_text="The input.")
    status = serializers.ChoiceField(choices=["ready", "failed"])
    input_s3_uri = serializers.CharField(required=False, help_text="The file's name in the store, of a ready input.")
    error = serializers.CharField(required=False, help_text="Why the copy failed, of a failed input.")


class InputCallbackSerializer(serializers.Serializer[Any]):
    """The reference's InputCallback, as `jobs.run.callbacks` sends it."""

    type = serializers.ChoiceField(choices=["input.ready", "input.failed"])
    timestamp = serializers.IntegerField(help_text="Seconds since 1970, also sent as webhook-timestamp.")
    id = serializers.CharField(help_text="The delivery, also sent as webhook-id.")
    data = InputCallbackDataSerializer()  # type: ignore[assignment]  # the reference's name


INPUT_EVENT = OpenApiCallback(
    name="inputEvent",
    path="{$request.body#/callback_url}",
    decorator=extend_schema(
        operation_id="inputEvent",
        summary="An input copied from a URL is ready or has failed",
        description="Signed by Standard Webhooks with the input's callback_secret; sent once.",
        request=InputCallbackSerializer,
        responses={"2XX": OpenApiResponse(description="Taken.")},
    ),
)


def render(source: Input, target: UploadTarget | None = None, callback_secret: str | None = None) -> dict[str, Any]:
    """The body of an answer; with the upload target or the callback's secret where it was just made."""
    body: dict[str, Any] = {
        "id": source.pk,
        "status": source.status,
        "input_s3_uri": selectors.uri(source),
        "error": contents.ingest_failure(source),
        "expires_at": selectors.deadline(source, now=clock.now()),
    }
    if callback_secret is not None:
        body["callback_secret"] = callback_secret
    return body if target is None else body | {"upload_url": target.url, "fields": target.fields}


class InputsView(Endpoint):
    """`/inputs`."""

    def handle_exception(self, exc: Exception) -> Response:
        """As everywhere, but reference 003 wants `detail` in every 503 of this endpoint."""
        if isinstance(exc, Unavailable):
            exc.extra["detail"] = exc.message
        return super().handle_exception(exc)

    @extend_schema(
        operation_id="createInput",
        tags=["inputs"],
        summary="Create an input: copy a file from a URL, or get a presigned target to upload one to",
        request=CreateInputRequestSerializer,
        responses=answers(201, InputSerializer, "The input was created.", 400, 402, 413, 415, 421),
        callbacks=[INPUT_EVENT],
        examples=[OpenApiExample("A direct upload", {"format": "jsonl"}, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        """Creates an input in `pending` where a source is named, in `awaiting_upload` otherwise."""
        given = validated(CreateInputRequestSerializer, request)
        if "source_url" in given:
            source, secret = ingests.create(
                organization_id=self.caller.organization_id,
                source_url=given["source_url"],
                format=given.get("format"),
                callback_url=given.get("callback_url"),
                data_residency=given.get("data_residency"),
                actor=self.caller.actor,
            )
            return Response(render(source, callback_secret=secret), status=201)
        if "callback_url" in given:
            raise InvalidRequest(
                "callback_url goes with source_url only: a direct upload has no copy to report on.",
                param="callback_url",
            )
        source, target = inputs.create_upload(
            organization_id=self.caller.organization_id,
            format=given.get("format"),
            data_residency=given.get("data_residency"),
            actor=self.caller.actor,
        )
        return Response(render(source, target), status=201)


class InputView(Endpoint):
    """`/inputs/{id}`."""

    answers_frozen = True

    @extend_schema(
        operation_id="getInput",
        tags=["inputs"],
        summary="Get an input's status",
        parameters=[
            OpenApiParameter("id", UUID, OpenApiParameter.PATH, description="The input, as createInput answered it.")
        ],
        responses=answers(200, InputSerializer, "The input as it is now.", 404, 421),
    )
    def get(self, request: Request, id: str) -> Response:
        """The input's present state; an upload that has landed is settled first."""
        input_id = id_in_path(id, selectors.refuse_unknown)
        return Response(render(inputs.look_up(organization_id=self.caller.organization_id, input_id=input_id)))
