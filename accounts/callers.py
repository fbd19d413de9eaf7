"""Who calls an API: the key, the organization it acts for, and what the key may do."""

from dataclasses import dataclass
from uuid import UUID

from accounts.plans import DEFAULT_PLAN, PlanTerms
from anex.core.actors import Actor
from anex.core.errors import Forbidden

SCOPES = ("batch:read", "batch:write", "text:write", "embeddings:write", "decisions:write")
EVERY_SCOPE = frozenset(SCOPES)


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated key; every query of the request is scoped by `organization_id`.

    `models` are the ids the key is limited to, None where it may use every model; `plan` is the organization's.
    """

    key_id: str
    organization_id: UUID
    scopes: frozenset[str]
    models: frozenset[str] | None = None
    plan: PlanTerms = DEFAULT_PLAN

    @property
    def actor(self) -> Actor:
        """The doer to name in writes."""
        return Actor("key", self.key_id)

    def require_scope(self, scope: str, *others: str) -> None:
        """Forbidden (403) unless the key has one of the scopes; `required` and `accepted` are reference 004's."""
        accepted = [scope, *others]
        if self.scopes.isdisjoint(accepted):
            raise Forbidden(
                f"This key may not do that: it lacks the scope {scope}. Use a key that has it.",
                code="missing_scope",
                extra={"code": "missing_scope", "required": scope, "accepted": accepted},
            )

    def require_surface(self, surface: str) -> None:
        """Forbidden (403) where the organization's plan lacks the surface: batch, chat, embeddings or decisions."""
        self.plan.require_surface(surface)

    def require_model(self, model_id: str) -> None:
        """Forbidden (403) for a model the key is not allowed to use."""
        if self.models is not None and model_id not in self.models:
            allowed = sorted(self.models)
            raise Forbidden(
                f"This key may not use the model '{model_id}'. It is limited to: {', '.join(allowed)}.",
                code="model_not_allowed",
                extra={"code": "model_not_allowed", "allowed_models": allowed},
            )
