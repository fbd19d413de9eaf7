"""Who calls an API: the key, the organization it acts for, and what the key may do."""

from dataclasses import dataclass
from uuid import UUID

from anex.core.actors import Actor

EVERY_SCOPE = frozenset({"batch:read", "batch:write", "text:write", "embeddings:write", "decisions:write"})


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated key; every query of the request is scoped by `organization_id`."""

    key_id: str
    organization_id: UUID
    scopes: frozenset[str]

    @property
    def actor(self) -> Actor:
        """The doer to name in writes."""
        return Actor("key", self.key_id)
