"""Tables of what makes a balance: accounts, the transfers between them, holds on what an organization has, grants.

None is written by the ORM: every change is one of the SQL functions the migrations create.
"""

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
