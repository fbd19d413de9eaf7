"""The append-only record of what was done; written in the transaction of what it records."""

from collections.abc import Mapping
from uuid import UUID

from accounts.models import AuditEvent
from anex.core.actors import Actor
from anex.core.errors import InvalidRequest


def record(
    *,
    organization_id: UUID | None,
    actor: Actor,
    action: str,
    target: str = "",
    reason: str = "",
    details: Mapping[str, object] | None = None,
) -> AuditEvent:
    """Write one event, e.g. action `key.create` with the key's id as its target; `details` hold what else matters.

    `organization_id` is None for what concerns no organization, such as switching a model server off.
    """
    return AuditEvent.objects.create(
        organization_id=organization_id,
        actor_kind=actor.kind,
        actor_id=actor.id,
        action=action,
        target=target,
        reason=reason,
        details=dict(details or {}),
    )


def require_reason(reason: str) -> None:
    """InvalidRequest (400) where staff give no reason for what they do."""
    if not reason.strip():
        raise InvalidRequest("Give a reason; it is kept in the audit record.", param="reason")
