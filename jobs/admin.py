"""Work for staff: jobs with their steps, inputs, chunks and workers, all read-only."""

from datetime import datetime
from urllib.parse import urlsplit

from django.contrib import admin
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from unfold.admin import TabularInline
from unfold.decorators import action, display

from accounts.services import audit
from anex.core.actors import Actor
from anex.core.money import cents_to_nano, format_dollars
from anex.core.staff import ReadOnlyAdmin
from jobs.batch_status import expires_at, shown
from jobs.lifecycle import TERMINAL, Status
from jobs.models import (
    Batch,
    Chunk,
    File,
    FileUpload,
    Input,
    Job,
    JobEvent,
    WebhookAttempt,
    WebhookDelivery,
    WebhookEndpoint,
    Worker,
)
from jobs.selectors import batches, files
from jobs.services import cancellations


class LogInline(TabularInline):
    """Rows below the one they belong to, oldest first."""

    ordering = ("pk",)
    extra = 0
    can_delete = False
    hide_title = True

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """They are written by what they tell of."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """They are never edited."""
        return False


class JobEventInline(LogInline):
    """The steps of a job."""

    model = JobEvent
    fields = ("type", "at", "actor")
    readonly_fields = fields


class WebhookAttemptInline(LogInline):
    """The attempts of a delivery."""

    model = WebhookAttempt
    fields = ("number", "at", "duration_ms", "status", "error")
    readonly_fields = fields


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    """Jobs of every organization, newest first."""

    list_display = ("id", "organization", "model_id", "state", "row_count", "quote", "charge", "created_at")
    list_filter = ("status", "model_id", "region", "completion_window")
    list_select_related = ("organization",)
    search_fields = ("id", "organization__name", "created_by")
    ordering = ("-created_at",)
    exclude = ("prices",)
    inlines = (JobEventInline,)
    actions_detail = ("cancel",)

    @display(  # type: ignore[untyped-decorator]
        description="Status",
        label={"done": "success", "failed": "danger", "cancelled": "danger", "cost_ready": "warning"},
        ordering="status",
    )
    def state(self, job: Job) -> str:
        """The job's status, coloured."""
        return job.status

    @admin.display(ordering="quote_cents")
    def quote(self, job: Job) -> str:
        """The ceiling."""
        return _dollars(job.quote_cents)

    @admin.display(ordering="charge_cents")
    def charge(self, job: Job) -> str:
        """What was charged in the end."""
        return _dollars(job.charge_cents)

    @action(description="Cancel", url_path="cancel", permissions=["act"])  # type: ignore[untyped-decorator]
    def cancel(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Stop the job as its owner could."""
        return self.ask(
            request,
            object_id,
            title="Cancel",
            explanation="The job stops; rows already answered are delivered and charged, the rest is released.",
            change=_cancel,
        )


@admin.register(Input)
class InputAdmin(ReadOnlyAdmin):
    """Files of rows; what is in them is the organization's alone."""

    list_display = ("id", "organization", "status", "size_bytes", "created_at", "expires_at")
    list_filter = ("status", "region")
    list_select_related = ("organization",)
    search_fields = ("id", "organization__name")
    ordering = ("-created_at",)


class OfBatchFilter(admin.SimpleListFilter):
    """Batches that are under way, or over."""

    title = "progress"
    parameter_name = "over"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        """Both."""
        return [("no", "Under way"), ("yes", "Over")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Batch]) -> QuerySet[Batch]:
        """The chosen ones."""
        over = {"yes": queryset.filter, "no": queryset.exclude}.get(self.value() or "")
        return over(job__status__in=TERMINAL) if over else queryset


@admin.register(Batch)
class BatchAdmin(ReadOnlyAdmin):
    """What a job made through OpenAI's clients is there: its id, status and file; steps and money are the job's."""

    list_display = ("batch", "organization", "model", "endpoint", "state", "window", "created", "closes")
    list_filter = (OfBatchFilter, "endpoint", "job__model_id", "job__region")
    list_select_related = ("job__organization", "job__input__file")
    search_fields = ("job__id", "job__organization__name", "job__input__file__id")
    ordering = ("-job__created_at",)
    readonly_fields = ("batch", "organization", "model", "state", "window", "input_file", "created", "closes")

    @admin.display
    def batch(self, batch: Batch) -> str:
        """The id that clients know."""
        return batches.wire_id(batch.job)

    @admin.display
    def organization(self, batch: Batch) -> str:
        """Whose."""
        return str(batch.job.organization)

    @admin.display(ordering="job__model_id")
    def model(self, batch: Batch) -> str:
        """What answers it."""
        return batch.job.model_id

    @admin.display
    def state(self, batch: Batch) -> str:
        """The status that clients read."""
        return shown(Status(batch.job.status), batch.job.stop_reason)

    @admin.display(ordering="job__completion_window")
    def window(self, batch: Batch) -> str:
        """The window it pays for."""
        return batch.job.completion_window

    @admin.display
    def input_file(self, batch: Batch) -> str:
        """The id of its uploaded file."""
        return files.wire_id(batch.job.input.file)

    @admin.display(ordering="job__created_at")
    def created(self, batch: Batch) -> datetime:
        """When it was made."""
        return batch.job.created_at

    @admin.display(ordering="job__created_at")
    def closes(self, batch: Batch) -> datetime:
        """When it is stopped if it is not over."""
        return expires_at(batch.job.created_at)


@admin.register(File)
class FileAdmin(ReadOnlyAdmin):
    """Uploaded and delivered files of OpenAI's clients; names and content are the organization's alone."""

    list_display = ("file", "organization", "purpose", "part", "model_id", "size_bytes", "created_at", "expires_at")
    list_filter = ("purpose", "part", "region")
    list_select_related = ("organization",)
    search_fields = ("id", "organization__name", "job__id")
    exclude = ("key", "etag")
    readonly_fields = ("file",)
    ordering = ("-created_at",)

    @admin.display
    def file(self, file: File) -> str:
        """The id that clients know."""
        return files.wire_id(file)


@admin.register(FileUpload)
class FileUploadAdmin(ReadOnlyAdmin):
    """Files on their way in, and the places that they take of their organizations."""

    list_display = ("id", "organization", "region", "lapses_at")
    list_filter = ("region",)
    list_select_related = ("organization",)
    search_fields = ("id", "organization__name")
    ordering = ("-lapses_at",)


@admin.register(Chunk)
class ChunkAdmin(ReadOnlyAdmin):
    """Units of claiming: where a job stands, and with which worker."""

    list_display = ("job", "kind", "index", "row_count", "closed", "epoch", "claims")
    list_filter = ("kind", "closed")
    search_fields = ("job__id",)
    exclude = ("done",)
    ordering = ("-id",)


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    """Worker processes by incarnation, newest first."""

    list_display = ("name", "id", "region", "started_at", "heartbeat_at")
    list_filter = ("region",)
    ordering = ("-id",)


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(ReadOnlyAdmin):
    """Where organizations are told of their jobs; secrets are theirs alone."""

    list_display = ("id", "organization", "host", "created_at", "failing_since", "disabled_reason", "deleted_at")
    list_filter = ("disabled_reason",)
    list_select_related = ("organization",)
    search_fields = ("id", "organization__name")
    exclude = ("url", "sealed_secret", "sealed_previous")
    readonly_fields = ("host",)
    ordering = ("-created_at",)

    @admin.display
    def host(self, endpoint: WebhookEndpoint) -> str:
        """Where it leads; the rest of an address may be a token of the receiver's."""
        return urlsplit(endpoint.url).netloc


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin):
    """Events on their way to endpoints, the latest due first."""

    list_display = ("id", "endpoint", "type", "job", "state", "attempts", "next_attempt_at")
    list_filter = ("state", "event__type")
    list_select_related = ("event", "endpoint")
    search_fields = ("id", "event__id", "event__job__id", "endpoint__id")
    ordering = ("-next_attempt_at",)
    inlines = (WebhookAttemptInline,)

    @admin.display(ordering="event__type")
    def type(self, delivery: WebhookDelivery) -> str:
        """What is told."""
        return delivery.event.type

    @admin.display
    def job(self, delivery: WebhookDelivery) -> str:
        """Of which job."""
        return str(delivery.event.job_id or "-")


@transaction.atomic
def _cancel(job: Job, actor: Actor, reason: str) -> None:
    cancellations.cancel(organization_id=job.organization_id, job_id=job.pk, actor=actor)
    audit.record(
        organization_id=job.organization_id, actor=actor, action="job.staff_cancel", target=str(job.pk), reason=reason
    )


def _dollars(cents: int | None) -> str:
    return "-" if cents is None else format_dollars(cents_to_nano(cents))
