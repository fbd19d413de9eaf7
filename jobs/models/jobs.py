"""Tables of inputs and jobs. Rows of a file have no table row each: a job is chunks and parts."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models

from accounts.models import Organization
from jobs.fields import BitStringField
from jobs.lifecycle import Status
from jobs.urgency import USUAL_PRIORITY, USUAL_WINDOW


class Input(models.Model):
    """A stored file of rows; immutable once ready: reads name its ETag."""

    class State(models.TextChoices):
        PENDING = "pending"
        COPYING = "copying"
        AWAITING_UPLOAD = "awaiting_upload"
        READY = "ready"
        FAILED = "failed"
        EXPIRED = "expired"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    region = models.CharField(max_length=10, default="world")
    status = models.CharField(max_length=20, choices=State.choices)
    format = models.CharField(max_length=10, default="jsonl")
    key = models.CharField(max_length=200, help_text="Object key in the region's store")
    etag = models.CharField(max_length=100, blank=True)
    size_bytes = models.BigIntegerField(null=True)
    created_by = models.CharField(max_length=80)
    created_at = models.DateTimeField(auto_now_add=True)
    upload_expires_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    purged_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["status", "expires_at"])]

    def __str__(self) -> str:
        return str(self.id)


class Ingest(models.Model):
    """The copying of an input from a URL, claimed like a chunk; closed once it has ended and its callback was tried.

    URLs, the callback's secret and the reason of a failure are objects beside the input, until they are not needed.
    """

    input = models.OneToOneField(Input, on_delete=models.CASCADE, related_name="ingest")
    epoch = models.BigIntegerField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField()
    closed = models.BooleanField(default=False)
    traceparent = models.CharField(max_length=55, blank=True, default="", db_default="", help_text="Of what asked")

    class Meta:
        indexes = [models.Index(fields=["due_at"], condition=models.Q(closed=False), name="open_ingests")]

    def __str__(self) -> str:
        return str(self.input_id)


class Job(models.Model):
    """An input, a model and options; priced, approved, run, delivered."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    input = models.ForeignKey(Input, on_delete=models.PROTECT, related_name="jobs")
    retry_of = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="retries")
    region = models.CharField(max_length=10, default="world")
    model_id = models.CharField(max_length=64)
    task_type = models.CharField(max_length=10, default="chat")
    status = models.CharField(max_length=20, choices=[(s.value, s.value) for s in Status], default=Status.SUBMITTED)
    created_by = models.CharField(max_length=80)
    created_at = models.DateTimeField(auto_now_add=True)
    traceparent = models.CharField(max_length=55, blank=True, default="", db_default="", help_text="Of what made it")

    # Options as submitted; null means the model's default, or an estimate.
    requested_max_output_tokens = models.PositiveIntegerField(null=True)
    reasoning = models.BooleanField(null=True)
    reasoning_budget = models.PositiveIntegerField(null=True)
    reasoning_effort = models.CharField(max_length=20, blank=True)
    temperature = models.FloatField(null=True)
    dimensions = models.PositiveIntegerField(null=True)
    video_fps = models.FloatField(null=True)
    row_profile = models.CharField(
        max_length=10, default="native", db_default="native", help_text="By which rules the rows are read"
    )
    # The rows of a parquet input, converted; none of another.
    rows_key = models.CharField(max_length=200, blank=True, default="", db_default="")
    rows_etag = models.CharField(max_length=100, blank=True, default="", db_default="")
    rows_bytes = models.BigIntegerField(null=True)
    has_response_format = models.BooleanField(default=False, help_text="The schema is an object of the job")
    completion_window = models.CharField(max_length=4, default=USUAL_WINDOW, db_default=USUAL_WINDOW)
    share = models.PositiveSmallIntegerField(default=1, db_default=1, help_text="Of places at servers, by its window")
    priority = models.PositiveSmallIntegerField(
        default=USUAL_PRIORITY, db_default=USUAL_PRIORITY, help_text="Among its organization's jobs of its window"
    )

    # The estimate; `prices` is the price card frozen when the job was quoted.
    row_count = models.PositiveIntegerField(null=True)
    est_input_tokens = models.BigIntegerField(null=True)
    media_rows = models.PositiveIntegerField(default=0, db_default=0)
    est_media = models.JSONField(null=True, help_text="What the rows with media send together, media and text")
    est_output_tokens = models.BigIntegerField(null=True)
    max_output_tokens = models.PositiveIntegerField(null=True, help_text="The effective cap per row")
    estimated_reasoning_budget = models.PositiveIntegerField(null=True, help_text="Where the customer set none")
    longest_row_tokens = models.PositiveIntegerField(null=True)
    prices = models.JSONField(null=True)
    quote_cents = models.BigIntegerField(null=True)
    expected_cost_cents = models.BigIntegerField(null=True)
    expected_cost_low_cents = models.BigIntegerField(null=True)
    expected_cost_high_cents = models.BigIntegerField(null=True)
    est_processing_seconds = models.PositiveIntegerField(null=True)
    approval_expires_at = models.DateTimeField(null=True)
    approved_at = models.DateTimeField(null=True)
    minimum_paid = models.BooleanField(
        default=False, db_default=False, help_text="A job it retries was charged: the model's minimum is paid"
    )
    paused = models.BooleanField(default=False, db_default=False, help_text="No row is sent; only while in progress")
    paused_at = models.DateTimeField(null=True, help_text="The last time it was paused")

    # How fast it went, of a finished job that was never paused; later jobs of the model are promised as much.
    startup_seconds = models.FloatField(null=True)
    tokens_per_second = models.FloatField(null=True)
    tokens_per_row = models.FloatField(null=True)

    # The outcome, written once when the job ends.
    stop_reason = models.CharField(max_length=20, blank=True, help_text="Why rows stopped early")
    finished_at = models.DateTimeField(null=True)
    success_rows = models.PositiveIntegerField(null=True)
    error_rows = models.PositiveIntegerField(null=True)
    format_error_rows = models.PositiveIntegerField(null=True)
    truncated_rows = models.PositiveIntegerField(null=True)
    charge_cents = models.BigIntegerField(null=True)
    result_key = models.CharField(max_length=200, blank=True)
    result_rows = models.PositiveIntegerField(null=True)
    result_bytes = models.BigIntegerField(null=True)
    partial = models.BooleanField(null=True)
    failure_code = models.CharField(max_length=20, blank=True)
    failure_line = models.PositiveIntegerField(null=True)
    data_expires_at = models.DateTimeField(null=True)
    deletion_asked_at = models.DateTimeField(null=True, help_text="Since when the data is to go once the job is over")
    data_deleted_at = models.DateTimeField(null=True)
    leftovers_deleted_at = models.DateTimeField(null=True, help_text="When the store was looked through once more")

    class Meta:
        indexes = [
            models.Index(fields=["organization", "-created_at", "-id"], name="job_pages"),
            models.Index(
                fields=["organization", "-finished_at"],
                condition=models.Q(finished_at__isnull=False),
                name="jobs_that_ended",
            ),
            models.Index(fields=["status"]),
            models.Index(
                fields=["data_expires_at"], condition=models.Q(data_deleted_at=None), name="jobs_whose_data_is_kept"
            ),
            models.Index(
                fields=["data_deleted_at"],
                condition=models.Q(data_deleted_at__isnull=False, leftovers_deleted_at=None),
                name="jobs_to_look_at_again",
            ),
            models.Index(
                fields=["model_id", "region", "-finished_at"],
                condition=models.Q(tokens_per_second__isnull=False),
                name="jobs_with_a_pace",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class AutoApproval(models.Model):
    """Whether an organization's quotes are approved without a person, and up to what; null means no ceiling."""

    organization = models.OneToOneField(Organization, on_delete=models.PROTECT, related_name="+")
    enabled = models.BooleanField(default=False)
    max_job_cents = models.BigIntegerField(null=True)
    max_day_cents = models.BigIntegerField(null=True)

    def __str__(self) -> str:
        return str(self.organization_id)


class JobEvent(models.Model):
    """A step of a job's life, written in the transaction that made it."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="events")
    type = models.CharField(max_length=20)
    at = models.DateTimeField(auto_now_add=True)
    actor = models.CharField(max_length=80)

    def __str__(self) -> str:
        return f"{self.job_id} {self.type}"


class Worker(models.Model):
    """One incarnation of a worker process; its id is the epoch of the chunks it claims."""

    name = models.CharField(max_length=120)
    region = models.CharField(max_length=10)
    started_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} #{self.pk}"


class Chunk(models.Model):
    """A unit of claiming: a byte range of the input to check or to run, or the job's finalization.

    `epoch` is the claiming worker's id, null when unclaimed; `done` has one bit per row; `claims` counts claims
    since the last committed part; `cursor` is the row being run alone, `suspects` the rows under which
    a server died once.
    """

    class Kind(models.TextChoices):
        VALIDATE = "validate"
        SAMPLE = "sample"
        ROWS = "rows"
        FINALIZE = "finalize"

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="chunks")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    index = models.PositiveIntegerField()
    first_row = models.PositiveIntegerField(default=0)
    row_count = models.PositiveIntegerField(default=0)
    byte_start = models.BigIntegerField(default=0)
    byte_end = models.BigIntegerField(default=0)
    done = BitStringField(default="")
    closed = models.BooleanField(default=False)
    epoch = models.BigIntegerField(null=True)
    claims = models.PositiveSmallIntegerField(default=0)
    cursor = models.PositiveIntegerField(null=True)
    suspects = BitStringField(default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "kind", "index"], name="one_chunk_per_place")]
        indexes = [
            models.Index(fields=["job", "index"], condition=models.Q(closed=False), name="open_chunks_of_job"),
            models.Index(fields=["job"], condition=models.Q(closed=False, epoch__isnull=False), name="chunks_in_hand"),
        ]

    def __str__(self) -> str:
        return f"{self.job_id} {self.kind} {self.index}"


class Part(models.Model):
    """Rows of a chunk made durable together: one object in the store and this row."""

    chunk = models.ForeignKey(Chunk, on_delete=models.CASCADE, related_name="parts")
    key = models.CharField(max_length=200)
    size_bytes = models.BigIntegerField()
    success_rows = models.PositiveIntegerField()
    error_rows = models.PositiveIntegerField()
    format_error_rows = models.PositiveIntegerField()
    truncated_rows = models.PositiveIntegerField()
    input_tokens = models.BigIntegerField()
    cached_tokens = models.BigIntegerField()
    output_tokens = models.BigIntegerField()
    reasoning_tokens = models.BigIntegerField(null=True, help_text="Of the output; null where a server did not tell")
    lengths = ArrayField(
        ArrayField(models.PositiveIntegerField(), size=3),
        null=True,
        help_text="Of a sample, per answer: tokens, tokens of thinking, and 1 where it was cut off",
    )
    cost_nano = models.BigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.key
