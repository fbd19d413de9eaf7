"""Batches and files of OpenAI's clients."""

from datetime import datetime

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import formats, timezone

from anex.core.staff import ReadOnlyAdmin
from jobs.batch_status import expires_at, shown
from jobs.lifecycle import TERMINAL, Status
from jobs.models import Batch, File, FileUpload
from jobs.selectors import batches, files


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

    list_display = ("batch", "organization", "model_id", "endpoint", "state", "window", "created", "closes")
    list_filter = (OfBatchFilter, "endpoint", "job__model_id", "job__region")
    list_select_related = ("job__organization", "job__input__file")
    search_fields = ("job__id", "job__organization__name", "job__input__file__id")
    ordering = ("-job__created_at",)
    readonly_fields = ("batch", "organization", "model_id", "state", "window", "input_file", "created", "closes")

    @admin.display
    def batch(self, batch: Batch) -> str:
        """The id that clients know."""
        return batches.wire_id(batch.job)

    @admin.display
    def organization(self, batch: Batch) -> str:
        """Whose."""
        return str(batch.job.organization)

    @admin.display(ordering="job__model_id")
    def model_id(self, batch: Batch) -> str:
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
    def created(self, batch: Batch) -> str:
        """When it was made."""
        return _at(batch.job.created_at)

    @admin.display(ordering="job__created_at")
    def closes(self, batch: Batch) -> str:
        """When it is stopped if it is not over."""
        return _at(expires_at(batch.job.created_at))


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


def _at(moment: datetime) -> str:
    """A time as the staff pages write those of a table's own fields."""
    return str(formats.localize(timezone.localtime(moment)))
