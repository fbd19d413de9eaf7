"""What the OpenAI-compatible host knows of a job beside the job."""

from django.db import models

from jobs.models.jobs import Job


class Batch(models.Model):
    """A job that was made as an OpenAI batch, and is shown as one; its metadata is an object of the job."""

    job = models.OneToOneField(Job, on_delete=models.CASCADE, primary_key=True, related_name="batch")
    endpoint = models.CharField(max_length=40)
    has_metadata = models.BooleanField(default=False)

    class Meta:
        verbose_name_plural = "batches"

    def __str__(self) -> str:
        return str(self.job_id)
