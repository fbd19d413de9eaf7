"""The append-only record of what was done; written in the transaction of what it records."""

from collections.abc import Mapping
from uuid import UUID

from accounts.models import AuditEvent
from anex.core.actors import Actor


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
