"""Tables of webhooks: where events go, what happened, and every attempt to tell."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models

from accounts.models import Organization
from jobs.models.jobs import Job
from jobs.webhooks import TERMINAL_EVENTS, DeliveryState, EventType


class WebhookEndpoint(models.Model):
    """Where an organization wants to be told of its jobs. No `events` chosen means every event.

    Secrets are sealed, for they are needed again to sign; the former one signs too until its overlap ends.
    """

    class Disabled(models.TextChoices):
        BY_HAND = "by_hand", "switched off by hand"
        GONE = "gone", "the receiver answered 410 Gone"
        FAILING = "failing", "every delivery failed for days"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    url = models.CharField(max_length=2000)
    events = ArrayField(models.CharField(max_length=20, choices=[(e.value, e.value) for e in EventType]), default=list)
    description = models.CharField(max_length=200, blank=True)
    sealed_secret = models.TextField()
    sealed_previous = models.TextField(blank=True)
    previous_expires_at = models.DateTimeField(null=True)
    created_by = models.CharField(max_length=80)
    created_at = models.DateTimeField(auto_now_add=True)
    failing_since = models.DateTimeField(null=True, help_text="The first failure since the last success")
    disabled_at = models.DateTimeField(null=True)
    disabled_reason = models.CharField(max_length=10, choices=Disabled.choices, blank=True)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["organization"], condition=models.Q(deleted_at=None), name="live_endpoints")]

    def __str__(self) -> str:
        return str(self.id)


class WebhookEvent(models.Model):
    """The outbox: something happened, written in the transaction that made it happen; its id is the `webhook-id`.

    What is sent is rendered from the job at every attempt, so nothing of it is kept here. A test has no job.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    region = models.CharField(max_length=10)
    type = models.CharField(max_length=20, choices=[(e.value, e.value) for e in EventType])
    job = models.ForeignKey(Job, on_delete=models.CASCADE, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["job"],
                condition=models.Q(type__in=[e.value for e in TERMINAL_EVENTS]),
                name="one_terminal_event",
            )
        ]
        indexes = [models.Index(fields=["organization", "-at"], name="events_by_time")]

    def __str__(self) -> str:
        return str(self.id)


class WebhookDelivery(models.Model):
    """An event on its way to an endpoint.

    `attempts` counts those begun and marks whose outcome counts; `tries_left` are what the schedule still has;
    while `leased_until` lies ahead, some worker is at it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    event = models.ForeignKey(WebhookEvent, on_delete=models.CASCADE, related_name="deliveries")
    endpoint = models.ForeignKey(WebhookEndpoint, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(
        max_length=10, choices=[(s.value, s.value) for s in DeliveryState], default=DeliveryState.PENDING
    )
    next_attempt_at = models.DateTimeField()
    leased_until = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    tries_left = models.PositiveSmallIntegerField()

    class Meta:
        verbose_name_plural = "webhook deliveries"
        constraints = [models.UniqueConstraint(fields=["event", "endpoint"], name="one_delivery_per_endpoint")]
        indexes = [models.Index(fields=["next_attempt_at"], condition=models.Q(state="pending"), name="due_deliveries")]

    def __str__(self) -> str:
        return str(self.id)


class WebhookAttempt(models.Model):
    """One request to a receiver: its status, or in our words what kept it from answering."""

    delivery = models.ForeignKey(WebhookDelivery, on_delete=models.CASCADE, related_name="log")
    number = models.PositiveIntegerField()
    at = models.DateTimeField()
    duration_ms = models.PositiveIntegerField()
    status = models.PositiveSmallIntegerField(null=True)
    error = models.CharField(max_length=400, blank=True)
    answer_key = models.CharField(max_length=200, blank=True, help_text="The start of the answer, in the store")

    def __str__(self) -> str:
        return f"{self.delivery_id} #{self.number}"
