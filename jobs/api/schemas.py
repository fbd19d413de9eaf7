"""The bodies of the job endpoints, as reference 003 names them: CreateJobRequest, Job, JobResult, JobDataDeletion.

They say what is valid and what is shown; `requests.py` and `rendering.py` translate from and to the services.
"""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from accounts.services import idempotency
from jobs.lifecycle import Status
from jobs.services.submissions import MAX_OUTPUT_TOKENS
from jobs.urgency import HIGHEST, LOWEST, WINDOWS

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


@extend_schema_field({"type": "number", "exclusiveMinimum": 0, "maximum": 60})
class VideoRateField(serializers.FloatField):
    """Frames per second, above 0 and at most 60."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs, min_value=0, max_value=60)


class UrgencySerializer(serializers.Serializer[Any]):
    """What a job may ask of its turn. A null field counts as left out; an unknown one is ignored."""

    completion_window = serializers.ChoiceField(
        **OPTIONAL,
        choices=WINDOWS,
        error_messages={"invalid_choice": f"must be one of {', '.join(WINDOWS)}"},
        help_text="How soon it should be done. `1h` goes before what has a day, at a higher price, on models that "
        "offer it. It is never an end: the job runs until it is done. Left out, 24h.",
    )
    priority = serializers.IntegerField(
        **OPTIONAL,
        min_value=LOWEST,
        max_value=HIGHEST,
        help_text="Among your own jobs of the same window the one with the higher number runs first. Left out, 5.",
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


class RetryJobRequestSerializer(UrgencySerializer):
    """What a retry may change. Left out, what the old job had; 24h where its window is not sold any more."""


@extend_schema_serializer(deprecate_fields=["max_tokens"])
class CreateJobRequestSerializer(UrgencySerializer):
    """What a job is created from. A null field counts as left out; an unknown one is ignored."""

    input_id = serializers.UUIDField(**OPTIONAL, help_text="An input of createInput. Give this or input_s3_uri.")
    input_s3_uri = serializers.CharField(**OPTIONAL, help_text="The input_s3_uri of an input, in place of its id.")
    model = serializers.CharField(help_text="A model on offer, by its exact id.")
    max_output_tokens = serializers.IntegerField(
        **OPTIONAL,
        min_value=1,
        max_value=MAX_OUTPUT_TOKENS,
        help_text="The most tokens a row may answer with, thinking included. Left out, a sample of the rows decides.",
    )
    max_tokens = serializers.IntegerField(
        **OPTIONAL, min_value=1, max_value=MAX_OUTPUT_TOKENS, help_text="The former name of max_output_tokens."
    )
    reasoning = serializers.BooleanField(
        **OPTIONAL,
        help_text="Whether rows that do not say so think. Left out, the model decides; models that cannot refuse true.",
    )
    reasoning_budget = serializers.IntegerField(
        **OPTIONAL,
        min_value=0,
        max_value=MAX_OUTPUT_TOKENS,
        help_text="The most tokens a row may think with, within max_output_tokens; 0 is no cap. Left out, a sample "
        "of the rows decides.",
    )
    reasoning_effort = serializers.CharField(
        **OPTIONAL,
        trim_whitespace=False,
        help_text="How hard the model thinks, on models with levels. A row may name its own.",
    )
    temperature = serializers.FloatField(
        **OPTIONAL,
        min_value=0,
        max_value=2,
        help_text="Sampling temperature of rows that name none. Left out, the model decides.",
    )
    video_fps = VideoRateField(
        **OPTIONAL, help_text="Frames per second that are read from the clips, on models that take a rate."
    )
    response_format = serializers.DictField(
        **OPTIONAL,
        help_text='What answers must look like: {"type": "json_object"} or {"type": "json_schema", "json_schema": …}.',
    )
    dimensions = serializers.IntegerField(
        **OPTIONAL, min_value=32, help_text="Width of the vectors, on embedding models. Left out, the full width."
    )
    data_residency = serializers.ChoiceField(
        **OPTIONAL,
        choices=["world", "eu"],
        error_messages={"invalid_choice": "must be world or eu"},
        help_text="Where the payload is kept and run. Left out, eu where EU data routing is on, else world.",
    )

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
    rows_failed = serializers.IntegerField(help_text="Of these the ones that failed or were refused.")
    rows_total = serializers.IntegerField()
    spent_cents = serializers.IntegerField()
    input_tokens = serializers.IntegerField(**OPTIONAL, help_text="Of these rows; null once the job is over.")
    output_tokens = serializers.IntegerField(**OPTIONAL, help_text="Of these rows; null once the job is over.")
    rows_per_second = serializers.FloatField(**OPTIONAL, help_text="Over the last minute, while rows run.")
    seconds_left = serializers.IntegerField(**OPTIONAL, help_text="At that pace; null while there is none.")
    waits_for_server = serializers.BooleanField(help_text="True while rows wait because no server of the model is up.")
    off_reason = serializers.CharField(**OPTIONAL, help_text="Why the model is switched off, while rows wait for that.")


class LineErrorSerializer(serializers.Serializer[Any]):
    """A refused line of the input, counted from 1; `line` is null when it is about the whole file."""

    code = serializers.CharField()
    line = serializers.IntegerField(allow_null=True)
    message = serializers.CharField()
    param = serializers.CharField(allow_null=True)
    custom_id = serializers.CharField(
        allow_null=True, help_text="The row's, where it could be read; of a very long one, how it begins."
    )


@extend_schema_serializer(deprecate_fields=["max_tokens"])
class JobSerializer(serializers.Serializer[Any]):
    """The reference's Job, then what is ours: from `progress` on.

    What creates or moves a job answers only id and status, a pause also `paused`; getJob answers every field.
    """

    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=STATUSES)
    est_input_tok = serializers.IntegerField(**OPTIONAL, help_text="Tokens of all rows, counted exactly.")
    est_output_tok = serializers.IntegerField(**OPTIONAL, help_text="Tokens the answers may have together.")
    est_cost_cents = serializers.IntegerField(
        **OPTIONAL, help_text="What approval holds and the most that is charged, in cents. Set at cost_ready."
    )
    est_processing_seconds = serializers.IntegerField(
        **OPTIONAL,
        help_text="From approval to result, in seconds, as the model's last jobs went; null before the first of them.",
    )
    success_rows = serializers.IntegerField(
        **OPTIONAL, help_text="Rows with an answer. Every row count is null until the job is over."
    )
    error_rows = serializers.IntegerField(**OPTIONAL, help_text="Rows that failed.")
    format_error_rows = serializers.IntegerField(
        **OPTIONAL, help_text="Rows refused because of what they contain or ask for."
    )
    truncated_rows = serializers.IntegerField(**OPTIONAL, help_text="Rows whose answer was cut at max_output_tokens.")
    pending_rows = serializers.IntegerField(**OPTIONAL, help_text="Rows that none of the other counts accounts for.")
    created_at = serializers.DateTimeField(**OPTIONAL, help_text="When it was submitted.")
    approved_at = serializers.DateTimeField(**OPTIONAL, help_text="When its estimate was approved.")
    data_expires_at = serializers.DateTimeField(
        **OPTIONAL, help_text="When its data will be deleted; null until the job is over."
    )
    data_deleted_at = serializers.DateTimeField(
        **OPTIONAL, help_text="When its data was deleted; null while it is there."
    )
    partial = serializers.BooleanField(
        **OPTIONAL, help_text="True where a failed or cancelled job delivered the rows it had finished."
    )  # type: ignore[assignment]
    failure_code = serializers.ChoiceField(
        choices=["invalid_input", "internal_error"], **OPTIONAL, help_text="Whose fault a failure is."
    )
    failure_reason = serializers.CharField(**OPTIONAL, help_text="The first thing that is wrong, in words.")
    max_output_tokens = serializers.IntegerField(
        **OPTIONAL, help_text="The cap per row: as asked for, or as estimated; 0 on models that write nothing."
    )
    max_tokens = serializers.IntegerField(**OPTIONAL, help_text="The same under its former name.")
    reasoning_budget = serializers.IntegerField(
        **OPTIONAL,
        help_text="The cap on thinking per row: as asked for (0 is none), or as estimated; null until then, and on "
        "models that take none.",
    )
    temperature = serializers.FloatField(**OPTIONAL, help_text="As asked for; null is the model's own.")
    video_fps = serializers.FloatField(**OPTIONAL, help_text="As asked for; null is the model's own rate.")
    model = serializers.CharField(**OPTIONAL, help_text="The model that runs the rows.")
    reasoning = serializers.BooleanField(**OPTIONAL, help_text="As asked for; null is the model's own way.")
    reasoning_effort = serializers.CharField(**OPTIONAL, help_text="As asked for; null is the model's own level.")
    task_type = serializers.ChoiceField(
        choices=["chat", "embed", "decide"], **OPTIONAL, help_text="What the model does with a row."
    )
    format = serializers.CharField(**OPTIONAL, help_text="Format of the input file.")
    response_format = serializers.DictField(**OPTIONAL, help_text="As asked for.")
    dimensions = serializers.IntegerField(**OPTIONAL, help_text="Width of the vectors, where one was asked for.")
    data_residency = serializers.ChoiceField(
        choices=["world", "eu"], required=False, help_text="Where the payload is kept and run."
    )
    progress = JobProgressSerializer(**OPTIONAL, help_text="How far an approved job is.")
    expected_cost_cents = serializers.IntegerField(
        **OPTIONAL,
        help_text="What the job will usually cost, in cents, by the answers of the sample; exact where nothing is "
        "written. Null where no answer was measured.",
    )
    expected_cost_low_cents = serializers.IntegerField(
        **OPTIONAL, help_text="The lower end of where its cost lies with 90 % confidence."
    )
    expected_cost_high_cents = serializers.IntegerField(
        **OPTIONAL, help_text="The upper end; never above est_cost_cents."
    )
    charge_cents = serializers.IntegerField(**OPTIONAL, help_text="What was charged, in cents, once the job is over.")
    stop_reason = serializers.CharField(**OPTIONAL, help_text="Why rows stopped before they were all answered.")
    completion_window = serializers.ChoiceField(choices=WINDOWS, required=False, help_text="As asked for.")
    price_percent = serializers.IntegerField(
        **OPTIONAL, help_text="What its window costs, in percent of the model's batch prices. Set at cost_ready."
    )
    priority = serializers.IntegerField(required=False, help_text="As asked for.")
    paused = serializers.BooleanField(required=False, help_text="No row is sent until the job is resumed.")
    retry_of = serializers.UUIDField(**OPTIONAL, help_text="The job whose failed rows this one retries.")
    failure_errors = LineErrorSerializer(
        many=True, required=False, help_text="The first 100 things that are wrong with the input."
    )


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


def _json_type(field: Any) -> tuple[tuple[type, ...], str]:
    return next((types, words) for kind, types, words in JSON_TYPES if isinstance(field, kind))


def _has_json_type(field: Any, value: Any) -> bool:
    types, _ = _json_type(field)
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))
