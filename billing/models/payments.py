"""Tables of payments: what organizations were asked for, what gateways reported, when to charge a saved method."""

import uuid
from typing import ClassVar

from django.db import models
from django.db.models import Q

from accounts.models import Organization


class Topup(models.Model):
    """A payment an organization was asked for. Its id is the idempotency key of everything about it."""

    class State(models.TextChoices):
        OPEN = "open"
        PAID = "paid"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    gateway = models.CharField(max_length=20)
    cents = models.BigIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    automatic = models.BooleanField(default=False)
    saves_method = models.BooleanField(default=False)
    checkout_ref = models.CharField(max_length=200, blank=True)
    payment_ref = models.CharField(max_length=200, blank=True)
    created_by = models.CharField(max_length=80)
    created_at = models.DateTimeField(auto_now_add=True)
    paid_at = models.DateTimeField(null=True)
    failure = models.CharField(max_length=200, blank=True)

    class Meta:
        verbose_name = "top-up"
        verbose_name_plural = "top-ups"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(cents__gt=0), name="topup_amount_positive"),
            models.UniqueConstraint(
                fields=["organization"],
                condition=Q(automatic=True, state="open"),
                name="one_automatic_topup_under_way",
            ),
            models.UniqueConstraint(
                fields=["gateway", "payment_ref"], condition=~Q(payment_ref=""), name="one_topup_per_payment"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["organization", "-created_at"]),
            models.Index(fields=["created_at"], condition=Q(state="open"), name="topups_under_way"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class PaymentEvent(models.Model):
    """What a gateway reported, once per id of its own. One that came before its payment is known waits here."""

    gateway = models.CharField(max_length=20)
    event_id = models.CharField(max_length=200)
    kind = models.CharField(max_length=10)
    payment_ref = models.CharField(max_length=200, blank=True)
    cause = models.CharField(max_length=10, blank=True)
    about = models.CharField(max_length=200, blank=True)
    cents = models.BigIntegerField(default=0)
    received_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["gateway", "event_id"], name="one_row_per_payment_event")
        ]
        indexes: ClassVar = [models.Index(fields=["gateway", "payment_ref"], name="events_of_a_payment")]

    def __str__(self) -> str:
        return f"{self.kind} {self.event_id}"


class AutoTopup(models.Model):
    """When to charge an organization's saved payment method, and the method."""

    organization = models.OneToOneField(Organization, on_delete=models.PROTECT, related_name="+")
    enabled = models.BooleanField(default=False)
    threshold_cents = models.BigIntegerField(default=0)
    cents = models.BigIntegerField(default=0)
    monthly_cap_cents = models.BigIntegerField(default=0)
    gateway = models.CharField(max_length=20)
    customer_ref = models.CharField(max_length=200)
    method_ref = models.CharField(max_length=200)
    failure = models.CharField(max_length=200, blank=True)
    saved_at = models.DateTimeField(null=True, help_text="When the payment method was saved")

    class Meta:
        verbose_name = "automatic top-up"
        verbose_name_plural = "automatic top-ups"

    def __str__(self) -> str:
        return str(self.organization_id)


class BalanceAlert(models.Model):
    """Below what an organization is told that its balance is low, and whether it is below now."""

    organization = models.OneToOneField(Organization, on_delete=models.PROTECT, related_name="+")
    threshold_cents = models.BigIntegerField(null=True)
    is_low = models.BooleanField(default=False)
    crossings = models.PositiveIntegerField(default=0, help_text="How often it fell below")

    def __str__(self) -> str:
        return str(self.organization_id)


class LocalPayment(models.Model):
    """A payment on our own payment page; its id is the top-up's."""

    class State(models.TextChoices):
        OPEN = "open"
        PAID = "paid"
        DECLINED = "declined"

    id = models.UUIDField(primary_key=True, editable=False)
    cents = models.BigIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    saves_method = models.BooleanField(default=False)
    declines_later = models.BooleanField(
        default=False, db_default=False, help_text="The method it saves is refused when it is charged"
    )
    refunds = models.JSONField(default=dict, help_text="Cents by key")

    def __str__(self) -> str:
        return str(self.id)
