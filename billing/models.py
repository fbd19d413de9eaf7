"""Tables of money: accounts, the transfers between them, holds on what an organization has, and payments.

What makes a balance (accounts, transfers, holds, grants) is never written by the ORM: every change is one of the
SQL functions the migrations create.
"""

import uuid
from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from accounts.models import Organization
from billing.amounts import MAX_AMOUNT_NANO


class Account(models.Model):
    """Where money is: one per organization, and the platform's own, known by `code`.

    Only an organization's account caches its balance; the platform's own would be a row that every
    payment of every organization waits for, so their balance is the sum of their transfers.
    """

    organization = models.OneToOneField(Organization, null=True, on_delete=models.PROTECT, related_name="+")
    code = models.CharField(max_length=20, null=True, unique=True)
    balance_nano = models.BigIntegerField(default=0, db_default=0)
    held_nano = models.BigIntegerField(default=0, db_default=0)
    credit_limit_nano = models.BigIntegerField(default=0, db_default=0)
    in_flight = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Realtime requests whose holds are open; kept by their verbs"
    )

    class Meta:
        permissions: ClassVar = [("grant_credits", "Can grant credits and correct balances")]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(organization__isnull=False, code__isnull=True)
                | Q(organization__isnull=True, code__isnull=False, balance_nano=0, held_nano=0, credit_limit_nano=0),
                name="account_of_organization_or_platform",
            ),
            models.CheckConstraint(
                condition=Q(
                    balance_nano__range=(-4 * MAX_AMOUNT_NANO, 4 * MAX_AMOUNT_NANO),
                    held_nano__range=(0, 5 * MAX_AMOUNT_NANO),
                    credit_limit_nano__range=(0, MAX_AMOUNT_NANO),
                ),
                name="account_amounts_in_range",
            ),
        ]

    def __str__(self) -> str:
        return self.code or str(self.organization)


class Transfer(models.Model):
    """A ledger line: `amount_nano` went from `debit` to `credit`. Written once; the database refuses a change."""

    class Kind(models.TextChoices):
        GRANT = "grant"
        CHARGE = "charge"
        CORRECTION = "correction"
        REFUND = "refund"
        EXPIRY = "expiry"
        PAYMENT = "payment"
        PAYMENT_REFUND = "payment_refund"
        DISPUTE = "dispute"

    source = models.CharField(max_length=120, help_text="What caused it; a cause moves money once")
    debit = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="+", db_index=False)
    credit = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="+", db_index=False)
    amount_nano = models.BigIntegerField()
    kind = models.CharField(max_length=20, choices=Kind.choices)
    actor = models.CharField(max_length=80)
    reason = models.TextField(blank=True)
    at = models.DateTimeField(db_default=Now())
    balance_after_nano = models.BigIntegerField(
        null=True, editable=False, help_text="The organization's balance after the line; set by the database"
    )
    about = models.ForeignKey(
        "self", null=True, on_delete=models.PROTECT, related_name="+", help_text="The charge that a refund gives back"
    )

    class Meta:
        constraints: ClassVar = [
            # Not the column's own `unique`, which would add a second index for patterns.
            models.UniqueConstraint(fields=["source"], name="transfer_source"),
            models.CheckConstraint(condition=Q(amount_nano__gt=0), name="transfer_amount_positive"),
            models.CheckConstraint(condition=~Q(debit=F("credit")), name="transfer_between_two_accounts"),
        ]
        # The id grows in the order an organization's lines were written: they are written under its account's lock.
        indexes: ClassVar = [
            models.Index(fields=["debit", "-id"], name="transfer_debits"),
            models.Index(fields=["credit", "-id"], name="transfer_credits"),
            models.Index(fields=["debit", "-at", "-id"], name="transfer_debits_by_time"),
            models.Index(fields=["credit", "-at", "-id"], name="transfer_credits_by_time"),
        ]

    def __str__(self) -> str:
        return self.source


class Hold(models.Model):
    """Credits set aside for work that was approved, until it is settled: one part captured, the rest released."""

    source = models.CharField(max_length=100, help_text="What the credits are held for")
    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="+", db_index=False)
    amount_nano = models.BigIntegerField()
    captured_nano = models.BigIntegerField(null=True)
    released_nano = models.BigIntegerField(null=True)
    actor = models.CharField(max_length=80)
    key_id = models.CharField(max_length=12, null=True, help_text="The key whose ceilings it counts against")
    key_charged_at = models.DateTimeField(null=True, help_text="The moment whose day, week and month it counts in")
    placed_at = models.DateTimeField(db_default=Now())
    settled_at = models.DateTimeField(null=True)

    # Of realtime requests alone.
    holder_id = models.BigIntegerField(null=True, help_text="The process that placed it; see Holder")
    expires_at = models.DateTimeField(null=True, help_text="When it is lost, whatever its process does")
    lost_at = models.DateTimeField(null=True, help_text="When it was settled at nothing because nobody settled it")
    surface = models.CharField(max_length=20, null=True)
    model_id = models.CharField(max_length=64, null=True)
    is_limited = models.BooleanField(
        default=False, db_default=False, help_text="Counts against its model's requests at once"
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source"], name="hold_source"),
            models.CheckConstraint(condition=Q(amount_nano__gt=0), name="hold_amount_positive"),
            models.CheckConstraint(
                condition=Q(captured_nano__isnull=True, released_nano__isnull=True, settled_at__isnull=True)
                # Each column by itself: a check that compares with a null is taken as passed.
                | Q(
                    captured_nano__isnull=False,
                    released_nano__isnull=False,
                    settled_at__isnull=False,
                    captured_nano__gte=0,
                    released_nano__gte=0,
                    amount_nano=F("captured_nano") + F("released_nano"),
                ),
                name="hold_open_or_fully_settled",
            ),
        ]
        indexes: ClassVar = [
            # Of jobs alone: those of requests are no lines of the ledger.
            models.Index(
                fields=["account", "-placed_at", "-id"], condition=Q(surface__isnull=True), name="job_holds_by_time"
            ),
            models.Index(
                fields=["account", "-settled_at", "-id"],
                condition=Q(released_nano__gt=0, surface__isnull=True),
                name="job_releases_by_time",
            ),
            models.Index(
                fields=["expires_at"],
                condition=Q(settled_at__isnull=True, holder_id__isnull=False),
                name="realtime_holds_open",
            ),
            models.Index(
                fields=["model_id"],
                condition=Q(settled_at__isnull=True, is_limited=True),
                name="holds_of_limited_models",
            ),
        ]

    def __str__(self) -> str:
        return self.source


class Holder(models.Model):
    """A web process that places holds for realtime requests, and until when it counts as alive.

    It renews this one row and not its holds. Once its time is over, its open holds are settled at nothing, as lost.
    """

    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.pk} until {self.expires_at}"


class RequestKey(models.Model):
    """An idempotency key of realtime requests and the hold of the one it stands for; written by their verbs alone.

    The key and what was asked under it are kept as SHA-256 digests (billing.request_keys). What became of it is what
    became of the hold.
    """

    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="+", db_index=False)
    digest = models.BinaryField(max_length=32)
    asked = models.BinaryField(max_length=32)
    source = models.CharField(max_length=100)
    tries = models.IntegerField(default=1, db_default=1, help_text="How often it was admitted")
    is_derived = models.BooleanField(help_text="Made of the request and not named by its client")
    placed_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["organization", "digest"], name="one_request_per_key")]

    def __str__(self) -> str:
        return f"a key of {self.source}"


class Grant(models.Model):
    """Free credits that are taken back, as far as they are unspent, when their time is over."""

    source = models.CharField(max_length=100, unique=True, help_text="The source of the grant's ledger line")
    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="+")
    amount_nano = models.BigIntegerField()
    given_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    expired_at = models.DateTimeField(null=True)
    expired_nano = models.BigIntegerField(null=True, help_text="What was unspent and taken back")
    held_nano = models.BigIntegerField(default=0, db_default=0, help_text="What was held at its end and may come back")

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(expired_at__isnull=True, expired_nano__isnull=True)
                | Q(
                    expired_at__isnull=False,
                    expired_nano__isnull=False,
                    expired_nano__gte=0,
                    expired_nano__lte=F("amount_nano"),
                ),
                name="grant_expires_once_within_itself",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["expires_at"], condition=Q(expired_at=None), name="grants_that_will_expire"),
            models.Index(fields=["account"], condition=Q(held_nano__gt=0), name="grants_still_held"),
        ]

    def __str__(self) -> str:
        return self.source


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
    refunds = models.JSONField(default=dict, help_text="Cents by key")

    def __str__(self) -> str:
        return str(self.id)


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


class KeySpend(models.Model):
    """What a key has spent or holds in the day, week and month of `day` (UTC); kept by the database."""

    key_id = models.CharField(primary_key=True, max_length=12)
    day = models.DateField()
    day_nano = models.BigIntegerField(default=0, db_default=0)
    week_nano = models.BigIntegerField(default=0, db_default=0)
    month_nano = models.BigIntegerField(default=0, db_default=0)

    def __str__(self) -> str:
        return f"{self.key_id} on {self.day}"
