"""Tables of what was consumed and spent; the sums are kept by the database."""

from typing import ClassVar

from django.db import models

from accounts.models import Organization


class UsageRecord(models.Model):
    """What a settled job or request consumed and cost, once per hold; written with its settlement."""

    source = models.CharField(max_length=100, help_text="The source of the hold")
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+", db_index=False)
    at = models.DateTimeField(help_text="When it was settled: the time of the charge's ledger line")
    surface = models.CharField(max_length=20)
    model_id = models.CharField(max_length=64)
    key_id = models.CharField(max_length=12, blank=True)
    requests = models.BigIntegerField()
    input_tokens = models.BigIntegerField()
    cached_tokens = models.BigIntegerField()
    output_tokens = models.BigIntegerField()
    amount_nano = models.BigIntegerField()

    # Of realtime requests alone: how it ended (billing.requests.Status), its media and how long it took.
    status = models.CharField(max_length=10, null=True)
    duration_ms = models.BigIntegerField(null=True)
    images = models.IntegerField(default=0, db_default=0)
    clips = models.IntegerField(default=0, db_default=0)
    video_ms = models.BigIntegerField(default=0, db_default=0)
    audio_ms = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["source"], name="usage_source")]
        indexes: ClassVar = [models.Index(fields=["organization", "at"], name="usage_by_time")]

    def __str__(self) -> str:
        return self.source


class UsageDay(models.Model):
    """Usage records of one day (UTC) together, so that no reader adds up every request; kept by the database."""

    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+", db_index=False)
    day = models.DateField()
    surface = models.CharField(max_length=20)
    model_id = models.CharField(max_length=64)
    key_id = models.CharField(max_length=12, blank=True)
    requests = models.BigIntegerField()
    input_tokens = models.BigIntegerField()
    cached_tokens = models.BigIntegerField()
    output_tokens = models.BigIntegerField()
    amount_nano = models.BigIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["organization", "day", "surface", "model_id", "key_id"], name="one_sum_of_usage_a_day"
            )
        ]

    def __str__(self) -> str:
        return f"{self.organization_id} on {self.day}"


class KeySpend(models.Model):
    """What a key has spent or holds in the day, week and month of `day` (UTC); kept by the database."""

    key_id = models.CharField(primary_key=True, max_length=12)
    day = models.DateField()
    day_nano = models.BigIntegerField(default=0, db_default=0)
    week_nano = models.BigIntegerField(default=0, db_default=0)
    month_nano = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        verbose_name = "spending of a key"
        verbose_name_plural = "spending of keys"

    def __str__(self) -> str:
        return f"{self.key_id} on {self.day}"
