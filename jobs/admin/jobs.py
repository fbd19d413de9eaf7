"""Jobs with their steps, inputs, chunks and workers."""

from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from unfold.decorators import action, display

from accounts.services import audit
from anex.core.actors import Actor
from anex.core.money import cents_to_nano, format_dollars
from anex.core.staff import ReadOnlyAdmin
from jobs.admin.logs import LogInline
from jobs.models import Chunk, Input, Job, JobEvent, Worker
from jobs.services import cancellations


class JobEventInline(LogInline):
    """The steps of a job."""

    model = JobEvent
    fields = ("type", "at", "actor")
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


@transaction.atomic
def _cancel(job: Job, actor: Actor, reason: str) -> None:
    cancellations.cancel(organization_id=job.organization_id, job_id=job.pk, actor=actor)
    audit.record(
        organization_id=job.organization_id, actor=actor, action="job.staff_cancel", target=str(job.pk), reason=reason
    )


def _dollars(cents: int | None) -> str:
    return "-" if cents is None else format_dollars(cents_to_nano(cents))
