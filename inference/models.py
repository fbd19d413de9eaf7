"""The one table of model servers: configured by an operator, or registered by what started one."""

from django.db import models


class Backend(models.Model):
    """A server that answers for a model in a region.

    `credential_env` names the environment variable that holds the server's key; the key itself is never stored.
    A registered backend is live while its starter renews `seen_at`; a configured one until it is switched off. A
    worker's own is registered too, and no other worker sends it rows of jobs.
    """

    class Source(models.TextChoices):
        CONFIGURED = "configured"
        REGISTERED = "registered"
        WORKER = "worker"

    model_id = models.CharField(max_length=64)
    region = models.CharField(max_length=10, default="world")
    base_url = models.URLField(help_text="Up to and including /v1, e.g. http://10.0.0.5:8000/v1")
    served_name = models.CharField(max_length=200, help_text="The model name the server knows")
    credential_env = models.CharField(max_length=64, blank=True)
    concurrency = models.PositiveIntegerField(default=64)
    reuse_connections = models.BooleanField(default=True)
    source = models.CharField(max_length=10, choices=Source.choices, default=Source.CONFIGURED)
    version = models.CharField(max_length=64, blank=True)
    enabled = models.BooleanField(default=True)
    off_reason = models.CharField(
        max_length=500,
        blank=True,
        db_default="",
        default="",
        help_text="Told to clients where every server of the model is switched off",
    )
    seen_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["model_id", "region", "base_url"], name="one_backend_per_model_and_address")
        ]

    def __str__(self) -> str:
        return f"{self.model_id} at {self.base_url}"
