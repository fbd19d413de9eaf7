"""The input endpoints of the batch API (references 001 and 003, /inputs)."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from anex.core import clock
from anex.core.errors import InvalidRequest, Unavailable
from jobs.api.endpoint import Endpoint, answers, id_in_path, validated
from jobs.models import Input
from jobs.selectors import inputs as selectors
from jobs.services import inputs
from jobs.storage.interface import UploadTarget

STATES = [state.value for state in Input.State]


class CreateInputRequestSerializer(serializers.Serializer[Any]):
    """What an input is created from. A null field counts as left out; an unknown one is ignored."""

    source_url = serializers.URLField(required=False)
    format = serializers.ChoiceField(required=False, choices=inputs.FORMATS)
    callback_url = serializers.URLField(required=False)
    data_residency = serializers.ChoiceField(required=False, choices=["world", "eu"])

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Leaves out what is null."""
        if not isinstance(data, dict):
            raise serializers.ValidationError({"non_field_errors": ["The body must be a JSON object."]})
        given: dict[str, Any] = super().to_internal_value({k: v for k, v in data.items() if v is not None})
        return given


class InputSerializer(serializers.Serializer[Any]):
    """The reference's Input. `upload_url` and `fields` are answered once, on create."""

    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=STATES)
    input_s3_uri = serializers.CharField()
    error = serializers.CharField(allow_null=True, required=False)
    callback_secret = serializers.CharField(allow_null=True, required=False)
    upload_url = serializers.CharField(allow_null=True, required=False)
    fields = serializers.DictField(  # type: ignore[assignment]  # the reference's name; DRF moves it out of the way
        child=serializers.CharField(), allow_null=True, required=False
    )
    expires_at = serializers.DateTimeField(allow_null=True, required=False)


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

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """As everywhere, but reference 003 wants `detail` in every 503 of this endpoint."""
        try:
            super().initial(request, *args, **kwargs)
        except Unavailable as error:
            error.extra["detail"] = error.message
            raise

    @extend_schema(
        operation_id="createInput",
        tags=["inputs"],
        summary="Create an input: get a presigned target to upload a file to",
        request=CreateInputRequestSerializer,
        responses=answers(201, InputSerializer, 400, 402, 421, 422),
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

    answers_frozen = True

    @extend_schema(
        operation_id="getInput",
        tags=["inputs"],
        summary="Get an input's status",
        parameters=[OpenApiParameter("id", UUID, OpenApiParameter.PATH)],
        responses=answers(200, InputSerializer, 404, 421),
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
