"""Who exists and what they did: people, organizations, memberships, keys, audit events, requests sent again."""

import uuid
from typing import ClassVar

from django.contrib.auth.models import AbstractUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.db import models

from accounts.callers import EVERY_SCOPE
from accounts.plans import SURFACES


class UserManager(BaseUserManager["User"]):
    """Creates people by e-mail address; there is no user name."""

    def create_user(self, email: str, password: str | None = None, **fields: object) -> "User":
        """A person; the password may be set later by a reset link."""
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save()
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: object) -> "User":
        """A member of staff with every permission, for `manage.py createsuperuser`.

        Who runs that vouches for the address.
        """
        from allauth.account.models import EmailAddress

        user = self.create_user(email, password, is_staff=True, is_superuser=True, **fields)
        EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
        return user


class User(AbstractUser):
    """A person who signs in with an e-mail address."""

    username = None  # type: ignore[assignment]
    email = models.EmailField(unique=True)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects = UserManager()  # type: ignore[misc,assignment]


def every_surface() -> list[str]:
    """The surfaces of a plan that shuts none."""
    return list(SURFACES)


class Plan(models.Model):
    """What the keys of the organizations on it may do; an organization without one is on the default plan."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=100)
    is_default = models.BooleanField(default=False)
    surfaces = ArrayField(models.CharField(max_length=20), default=every_surface)
    burst = models.PositiveIntegerField(
        null=True, help_text="Requests the organization's keys may send in a second; empty is no limit of the plan's"
    )
    max_output_tokens = models.PositiveIntegerField(null=True, help_text="The longest answer; empty is the model's")
    history_budget_bytes = models.PositiveIntegerField(
        null=True, help_text="How much of a conversation is sent on where it is bounded at all; empty is all of it"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["is_default"], condition=models.Q(is_default=True), name="one_default_plan")
        ]

    def __str__(self) -> str:
        return self.name


class Organization(models.Model):
    """Owns everything: members, keys, money, inputs, jobs."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    created_at = models.DateTimeField(auto_now_add=True)
    suspended_at = models.DateTimeField(null=True, blank=True)
    plan = models.ForeignKey(
        Plan, null=True, blank=True, on_delete=models.PROTECT, related_name="+", help_text="Empty is the default plan"
    )
    in_flight_limit = models.PositiveIntegerField(
        null=True, blank=True, help_text="Realtime requests at once; empty is the installation's default"
    )

    eu_routing = models.BooleanField(
        default=False, help_text="Batch data is kept in the EEA unless a request says world"
    )

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person's role in an organization."""

    class Role(models.TextChoices):
        OWNER = "owner"
        ADMIN = "admin"
        MEMBER = "member"

    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)
    created_at = models.DateTimeField(auto_now_add=True)
    muted_alerts = ArrayField(models.CharField(max_length=20), default=list, db_default=[])

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organization", "user"], name="one_membership_per_person")]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.organization_id} ({self.role})"


class Invitation(models.Model):
    """A place in an organization offered to an e-mail address, until it is taken, revoked or expires.

    The link in the e-mail carries a random token, of which only the SHA-256 is kept.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField()
    role = models.CharField(max_length=10, choices=Membership.Role.choices)
    token_sha256 = models.BinaryField(max_length=32, unique=True)
    invited_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    sent_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organization", "email"],
                condition=models.Q(accepted_at=None, revoked_at=None),
                name="one_open_invitation_per_address",
            )
        ]

    def __str__(self) -> str:
        return f"{self.organization_id} as {self.role}"


def every_scope() -> list[str]:
    """The scopes of a key that was given none: all."""
    return sorted(EVERY_SCOPE)


class ApiKey(models.Model):
    """A program's way in: `sk-` + id + secret, of which only the SHA-256 is kept."""

    id = models.CharField(primary_key=True, max_length=12, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="keys")
    name = models.CharField(max_length=100)
    secret_sha256 = models.BinaryField(max_length=32)
    last_four = models.CharField(max_length=4)
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    # What the key may do; null is no limit.
    scopes = ArrayField(models.CharField(max_length=30), default=every_scope, db_default=every_scope())
    allowed_models = ArrayField(models.CharField(max_length=64), null=True)
    expires_at = models.DateTimeField(null=True)
    daily_ceiling_cents = models.BigIntegerField(null=True)
    weekly_ceiling_cents = models.BigIntegerField(null=True)
    monthly_ceiling_cents = models.BigIntegerField(null=True)

    # The secret before the last rotation, while it still works.
    rotated_at = models.DateTimeField(null=True)
    previous_sha256 = models.BinaryField(max_length=32, null=True)
    previous_expires_at = models.DateTimeField(null=True)

    for_playground = models.BooleanField(
        default=False, db_default=False, help_text="What its creator's browser calls with; not one of the listed keys"
    )

    class Meta:
        verbose_name = "API key"
        verbose_name_plural = "API keys"
        constraints = [
            models.UniqueConstraint(
                fields=["organization", "created_by"],
                condition=models.Q(for_playground=True),
                name="one_playground_key_per_person",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.id})"


class Alert(models.Model):
    """Something to tell an organization's people by e-mail, once; written in the transaction of what it tells."""

    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=20)
    subject = models.CharField(max_length=64, help_text="The id of what it is about")
    crossing = models.CharField(max_length=64, help_text="Tells one time from the next")
    facts = models.JSONField(help_text="What the e-mail names: numbers and codes")
    person_id = models.BigIntegerField(null=True, help_text="Who is told beside owners and admins")
    raised_at = models.DateTimeField(auto_now_add=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organization", "kind", "subject", "crossing"], name="one_alert_per_crossing"
            )
        ]
        indexes = [
            models.Index(fields=["next_attempt_at"], condition=models.Q(sent_at=None), name="alerts_to_send"),
            models.Index(fields=["raised_at"], name="alerts_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"


class AuditEvent(models.Model):
    """What was done, by whom, to what; written once, never changed (the database refuses)."""

    organization = models.ForeignKey(Organization, null=True, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    actor_kind = models.CharField(max_length=10)
    actor_id = models.CharField(max_length=64)
    action = models.CharField(max_length=64)
    target = models.CharField(max_length=64, blank=True)
    reason = models.TextField(blank=True)
    details = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))

    class Meta:
        indexes = [
            models.Index(fields=["organization", "-at"]),
            models.Index(fields=["organization", "-id"], name="audit_pages"),
            models.Index(fields=["organization", "target", "id"], name="audit_targets"),
        ]

    def __str__(self) -> str:
        return f"{self.action} by {self.actor_kind}:{self.actor_id}"


class Idempotency(models.Model):
    """What a request sent under a key led to, so that sending it again has no second effect.

    Written in the transaction of the effect. The key and the request are kept as SHA-256 digests, `reference` names
    what came of it, e.g. a job's id.
    """

    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="+")
    operation = models.CharField(max_length=40)
    key_sha256 = models.BinaryField(max_length=32)
    body_sha256 = models.BinaryField(max_length=32)
    reference = models.CharField(max_length=64)
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = "idempotency key"
        verbose_name_plural = "idempotency keys"
        constraints = [
            models.UniqueConstraint(fields=["organization", "operation", "key_sha256"], name="one_effect_per_key")
        ]

    def __str__(self) -> str:
        return f"{self.operation} → {self.reference}"


class Freeze(models.Model):
    """An API that staff can freeze for maintenance, since when it is, and why, as clients are told."""

    surface = models.CharField(primary_key=True, max_length=20)
    frozen_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=500, blank=True, default="", db_default="")

    def __str__(self) -> str:
        return self.surface


class Notice(models.Model):
    """What staff tells people on every page of the console, until it is taken down."""

    text = models.CharField(max_length=500)
    shown_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.text
