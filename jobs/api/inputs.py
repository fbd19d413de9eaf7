"""The input endpoints of the batch API (references 001 and 003, /inputs)."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiCallback, OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from anex.core import clock
from anex.core.errors import InvalidRequest
from jobs.api.endpoint import Endpoint, answers, id_in_path, validated
from jobs.api.errors import REGIONS
from jobs.api.schemas import OPTIONAL
from jobs.models import Input
from jobs.selectors import inputs as selectors
from jobs.services import inputs
from jobs.storage.interface import UploadTarget

STATES = [state.value for state in Input.State]


class CreateInputRequestSerializer(serializers.Serializer[Any]):
    """What an input is created from. A null field counts as left out; an unknown one is ignored."""

    source_url = serializers.URLField(
        **OPTIONAL, help_text="The https URL to copy the file from. Left out, a target to upload it to is answered."
    )
    format = serializers.ChoiceField(
        **OPTIONAL, choices=inputs.FORMATS, help_text="Format of the file; a direct upload must name it."
    )
    callback_url = serializers.URLField(
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

    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=STATES)
    input_s3_uri = serializers.CharField(help_text="Where the file is kept; createJob takes it in place of the id.")
    error = serializers.CharField(**OPTIONAL, help_text="Why the copy failed.")
    callback_secret = serializers.CharField(**OPTIONAL, help_text="What callbacks are signed with.")
    upload_url = serializers.CharField(**OPTIONAL, help_text="Where to POST the file as a form.")
    fields = serializers.DictField(  # type: ignore[assignment]  # the reference's name; DRF moves it out of the way
        **OPTIONAL, child=serializers.CharField(), help_text="The form's fields, to be sent before the file."
    )
    expires_at = serializers.DateTimeField(
        **OPTIONAL, help_text="The end of the upload window, or of the days a ready file is kept."
    )


class CopySerializer(serializers.Serializer[Any]):
    """How the copy of an input ended."""

    id = serializers.CharField(help_text="The input.")
    status = serializers.ChoiceField(choices=["ready", "failed"])
    input_s3_uri = serializers.CharField(required=False, help_text="Where the file is kept, once it is ready.")
    error = serializers.CharField(required=False, help_text="Why the copy failed.")


class InputCallbackSerializer(serializers.Serializer[Any]):
    """What a callback_url is sent, signed as Standard Webhooks says with the input's own secret."""

    type = serializers.ChoiceField(choices=["input.ready", "input.failed"])
    timestamp = serializers.IntegerField(help_text="Unix seconds, also in the header webhook-timestamp.")
    id = serializers.CharField(help_text="The delivery, also in the header webhook-id.")
    data = CopySerializer()  # type: ignore[assignment]  # the reference's name; DRF moves it out of the way


COPY_ENDED = OpenApiCallback(
    name="inputEvent",
    path="{$request.body#/callback_url}",
    decorator=extend_schema(
        summary="The copy has ended: input.ready or input.failed",
        request=InputCallbackSerializer,
        responses={"2XX": OpenApiResponse(description="Counts as delivered.")},
    ),
)


def render(source: Input, target: UploadTarget | None = None) -> dict[str, Any]:
    """The body of an answer; with the upload target where it was just made."""
    body: dict[str, Any] = {
        "id": source.pk,
        "status": source.status,
        "input_s3_uri": selectors.uri(source),
        "error": None,
        "expires_at": selectors.deadline(source, now=clock.now()),
    }
    return body if target is None else body | {"upload_url": target.url, "fields": target.fields}


class InputsView(Endpoint):
    """`/inputs`."""

    @extend_schema(
        operation_id="createInput",
        tags=["inputs"],
        summary="Create an input: get a presigned target to upload a file to",
        request=CreateInputRequestSerializer,
        responses=answers(201, InputSerializer, "The input was created.", 400, 402, 413, 415, 421),
        callbacks=[COPY_ENDED],
        examples=[OpenApiExample("A direct upload", {"format": "jsonl"}, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        """Creates an input in `awaiting_upload`."""
        given = validated(CreateInputRequestSerializer, request)
        _refuse_copying(given)
        source, target = inputs.create_upload(
            organization_id=self.caller.organization_id,
            format=given.get("format"),
            data_residency=given.get("data_residency"),
            actor=self.caller.actor,
        )
        return Response(render(source, target), status=201)


class InputView(Endpoint):
    """`/inputs/{id}`."""

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


def _refuse_copying(given: dict[str, Any]) -> None:
    if "source_url" in given:
        raise InvalidRequest(
            "This installation does not copy files from a URL yet. Leave out source_url and upload the file directly.",
            param="source_url",
        )
    if "callback_url" in given:
        raise InvalidRequest(
            "callback_url goes with source_url only: a direct upload has no copy to report on.", param="callback_url"
        )
