"""Jobs with their steps, inputs, chunks and workers."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from unfold.decorators import action, display

from anex.core.money import cents_to_nano, format_dollars
from anex.core.staff import ReadOnlyAdmin
from jobs.admin.logs import LogInline
from jobs.models import Chunk, Input, Job, JobEvent, Worker
from jobs.services import interventions


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
    actions_detail = ("requeue", "fail", "cancel")

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

    @action(description="Requeue", url_path="requeue", permissions=["act"])  # type: ignore[untyped-decorator]
    def requeue(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Let any worker take the job's work."""
        return self.ask(
            request,
            object_id,
            title="Requeue",
            explanation="The job's open work is taken from the workers that hold it, and any may claim it afresh. Rows "
            "in flight are sent once more, at our cost.",
            change=lambda row, actor, reason: interventions.requeue(
                organization_id=row.organization_id, job_id=row.pk, actor=actor, reason=reason
            ),
        )

    @action(description="Fail", url_path="fail", permissions=["act"])  # type: ignore[untyped-decorator]
    def fail(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """End the job as failed."""
        return self.ask(
            request,
            object_id,
            title="Fail",
            explanation="The job ends as failed by our fault, and its owner reads the reason. Rows already "
            "answered are delivered and charged, the rest is released.",
            change=lambda row, actor, reason: interventions.fail(
                organization_id=row.organization_id, job_id=row.pk, actor=actor, reason=reason
            ),
        )

    @action(description="Cancel", url_path="cancel", permissions=["act"])  # type: ignore[untyped-decorator]
    def cancel(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Stop the job as its owner could."""
        return self.ask(
            request,
            object_id,
            title="Cancel",
            explanation="The job stops; rows already answered are delivered and charged, the rest is released.",
            change=lambda row, actor, reason: interventions.cancel(
                organization_id=row.organization_id, job_id=row.pk, actor=actor, reason=reason
            ),
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


def _dollars(cents: int | None) -> str:
    return "-" if cents is None else format_dollars(cents_to_nano(cents))
