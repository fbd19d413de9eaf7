"""The bodies of the job endpoints, as reference 003 names them: CreateJobRequest, Job, JobResult,
JobDataDeletion, Error.

They say what is valid and what is shown; `requests.py` and `rendering.py` translate from and to the services.
"""

from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from accounts.services import idempotency
from jobs.lifecycle import Status
from jobs.services.submissions import MAX_OUTPUT_TOKENS

OPTIONAL: dict[str, Any] = {"allow_null": True, "required": False}
STATUSES = [status.value for status in Status]
RETIRED = ("instruction_column", "input_column")
# DRF converts where it can ("12" becomes 12); the reference types each field, and a wrong type is refused.
JSON_TYPES: tuple[tuple[type[serializers.Field[Any, Any, Any, Any]], tuple[type, ...], str], ...] = (
    (serializers.BooleanField, (bool,), "true or false"),
    (serializers.IntegerField, (int,), "an integer"),
    (serializers.FloatField, (int, float), "a number"),
    (serializers.DictField, (dict,), "an object"),
    (serializers.Field, (str,), "a string"),
)

IDEMPOTENCY_KEY = OpenApiParameter(
    idempotency.HEADER,
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
    OpenApiParameter.HEADER,
    description="Printable ASCII of your choice. For 24 hours, the same request under the same key creates nothing "
    "further and is answered as the first was; another request under the key is 409 `idempotency_key_reused`. A "
    "request that was refused does not use up its key.",
)


class CreateJobRequestSerializer(serializers.Serializer[Any]):
    """What a job is created from. A null field counts as left out; an unknown one is ignored."""

    input_id = serializers.UUIDField(required=False)
    input_s3_uri = serializers.CharField(required=False)
    model = serializers.CharField()
    max_output_tokens = serializers.IntegerField(required=False, min_value=1, max_value=MAX_OUTPUT_TOKENS)
    max_tokens = serializers.IntegerField(required=False, min_value=1, max_value=MAX_OUTPUT_TOKENS)
    reasoning = serializers.BooleanField(required=False)
    reasoning_budget = serializers.IntegerField(required=False, min_value=0, max_value=MAX_OUTPUT_TOKENS)
    reasoning_effort = serializers.CharField(required=False, trim_whitespace=False)
    temperature = serializers.FloatField(required=False, min_value=0, max_value=2)
    video_fps = serializers.FloatField(required=False, min_value=0, max_value=60)
    response_format = serializers.DictField(required=False)
    dimensions = serializers.IntegerField(required=False, min_value=32)
    data_residency = serializers.ChoiceField(
        required=False, choices=["world", "eu"], error_messages={"invalid_choice": "must be world or eu"}
    )

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Checks the JSON type of every field before DRF converts anything."""
        if not isinstance(data, dict):
            raise serializers.ValidationError({"non_field_errors": ["The body must be a JSON object."]})
        given = {name: value for name, value in data.items() if value is not None}
        for name, field in self.fields.items():
            if name in given and not _has_json_type(field, given[name]):
                raise serializers.ValidationError({name: f"must be {_json_type(field)[1]}"})
        fields: dict[str, Any] = super().to_internal_value(given)
        return fields

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The rules that hold for every chat model, whichever it is."""
        for name in RETIRED:
            if self.initial_data.get(name) is not None:
                raise serializers.ValidationError({name: "is no longer taken: put each row's messages into the file"})
        old = attrs.pop("max_tokens", None)
        cap = attrs.setdefault("max_output_tokens", old)
        if old is not None and cap != old:
            raise serializers.ValidationError(
                {"max_tokens": "is the former name of max_output_tokens and differs from it: give one of the two"}
            )
        return attrs


class JobProgressSerializer(serializers.Serializer[Any]):
    """Rows with an outcome so far, and the whole cents they consumed: rounded up, at most the estimate."""

    rows_done = serializers.IntegerField()
    rows_total = serializers.IntegerField()
    spent_cents = serializers.IntegerField()


class LineErrorSerializer(serializers.Serializer[Any]):
    """A refused line of the input, counted from 1; `line` is null when it is about the whole file."""

    code = serializers.CharField()
    line = serializers.IntegerField(allow_null=True)
    message = serializers.CharField()
    param = serializers.CharField(allow_null=True)


class JobSerializer(serializers.Serializer[Any]):
    """The reference's Job, then what is ours: from `progress` on.

    What creates or moves a job answers only id and status, a pause also `paused`; getJob answers every field.
    """

    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=STATUSES)
    est_input_tok = serializers.IntegerField(**OPTIONAL)
    est_output_tok = serializers.IntegerField(**OPTIONAL)
    est_cost_cents = serializers.IntegerField(**OPTIONAL)
    est_processing_seconds = serializers.IntegerField(**OPTIONAL)
    success_rows = serializers.IntegerField(**OPTIONAL)
    error_rows = serializers.IntegerField(**OPTIONAL)
    format_error_rows = serializers.IntegerField(**OPTIONAL)
    truncated_rows = serializers.IntegerField(**OPTIONAL)
    pending_rows = serializers.IntegerField(**OPTIONAL)
    created_at = serializers.DateTimeField(**OPTIONAL)
    approved_at = serializers.DateTimeField(**OPTIONAL)
    data_expires_at = serializers.DateTimeField(**OPTIONAL)
    data_deleted_at = serializers.DateTimeField(**OPTIONAL)
    partial = serializers.BooleanField(**OPTIONAL)  # type: ignore[assignment]
    failure_code = serializers.ChoiceField(choices=["invalid_input", "internal_error"], **OPTIONAL)
    failure_reason = serializers.CharField(**OPTIONAL)
    max_output_tokens = serializers.IntegerField(**OPTIONAL)
    max_tokens = serializers.IntegerField(**OPTIONAL)
    reasoning_budget = serializers.IntegerField(**OPTIONAL)
    temperature = serializers.FloatField(**OPTIONAL)
    video_fps = serializers.FloatField(**OPTIONAL)
    model = serializers.CharField(**OPTIONAL)
    reasoning = serializers.BooleanField(**OPTIONAL)
    reasoning_effort = serializers.CharField(**OPTIONAL)
    task_type = serializers.ChoiceField(choices=["chat", "embed", "decide"], **OPTIONAL)
    format = serializers.CharField(**OPTIONAL)
    response_format = serializers.DictField(**OPTIONAL)
    dimensions = serializers.IntegerField(**OPTIONAL)
    data_residency = serializers.ChoiceField(choices=["world", "eu"], required=False)
    progress = JobProgressSerializer(**OPTIONAL)
    charge_cents = serializers.IntegerField(**OPTIONAL)
    stop_reason = serializers.CharField(**OPTIONAL)
    paused = serializers.BooleanField(required=False, help_text="No row is sent until the job is resumed")
    retry_of = serializers.UUIDField(**OPTIONAL, help_text="The job whose failed rows this one retries")
    failure_errors = LineErrorSerializer(many=True, required=False)


class JobResultSerializer(serializers.Serializer[Any]):
    """A presigned link to a result file; `row_count` is the number of rows in it."""

    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=STATUSES)
    result_url = serializers.URLField()
    expires_in = serializers.IntegerField(help_text="Seconds the link stays valid")
    partial = serializers.BooleanField(required=False)  # type: ignore[assignment]
    row_count = serializers.IntegerField(**OPTIONAL)


class JobDataDeletionSerializer(serializers.Serializer[Any]):
    """What became of a job's data: deleted, or to be deleted once the job has stopped."""

    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=STATUSES)
    data_deleted_at = serializers.DateTimeField(**OPTIONAL, help_text="When it was deleted; null on a 202.")
    message = serializers.CharField(**OPTIONAL, help_text="On a 202: what happens next.")


class ErrorSerializer(serializers.Serializer[Any]):
    """Why a request was refused, as a sentence."""

    detail = serializers.CharField()


def _json_type(field: Any) -> tuple[tuple[type, ...], str]:
    return next((types, words) for kind, types, words in JSON_TYPES if isinstance(field, kind))


def _has_json_type(field: Any, value: Any) -> bool:
    types, _ = _json_type(field)
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))
