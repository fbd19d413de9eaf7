"""Tables of the OpenAI-compatible host's files."""

import uuid

from django.db import models

from accounts.models import Organization
from jobs.models.jobs import Input, Job


class File(models.Model):
    """A file of the OpenAI-compatible host: an uploaded input, or what a job delivered to a batch.

    An uploaded file is its input: the object, its ETag and who made it are the input's. A result names its own object.
    The name it was uploaded under is kept in the store.
    """

    class Purpose(models.TextChoices):
        BATCH = "batch"
        BATCH_OUTPUT = "batch_output"

    class Part(models.TextChoices):
        OUTPUT = "output"
        ERROR = "error"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    region = models.CharField(max_length=10)
    purpose = models.CharField(max_length=20, choices=Purpose.choices)
    input = models.OneToOneField(Input, on_delete=models.PROTECT, null=True, related_name="file")
    model_id = models.CharField(max_length=64, blank=True, help_text="What every line of an uploaded file names")
    url = models.CharField(max_length=40, blank=True, help_text="What every line names; empty of older files")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, null=True, related_name="files")
    part = models.CharField(max_length=10, choices=Part.choices, blank=True)
    key = models.CharField(max_length=200, blank=True)
    etag = models.CharField(max_length=100, blank=True)
    size_bytes = models.BigIntegerField()
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    purged_at = models.DateTimeField(null=True, help_text="Since when nothing of it is given out any more")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "part"], name="one_file_per_part_of_a_job"),
            models.CheckConstraint(
                condition=models.Q(purpose="batch", input__isnull=False, job=None)
                | models.Q(purpose="batch_output", input=None, job__isnull=False),
                name="a_file_is_an_input_or_a_result",
            ),
        ]
        indexes = [
            models.Index(
                fields=["organization", "-created_at", "-id"],
                condition=models.Q(purged_at=None),
                name="file_pages",
            )
        ]

    def __str__(self) -> str:
        return str(self.id)


class FileUpload(models.Model):
    """A file on its way in: one of the places its organization has, and the object a killed process may leave."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    region = models.CharField(max_length=10)
    lapses_at = models.DateTimeField(help_text="Renewed while it is received")

    def __str__(self) -> str:
        return str(self.id)
