"""Reads of plans."""

from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import JSONObject

from accounts.models import ApiKey, Organization, Plan
from accounts.plans import DEFAULT_PLAN, PlanTerms

_COLUMNS = ("slug", "name", "surfaces", "burst", "max_output_tokens", "history_budget_bytes")


def of(organization_id: UUID) -> PlanTerms:
    """The terms of the organization's plan."""
    return _terms(Organization.objects.filter(pk=organization_id).values_list(_beside("plan_id"), flat=True).first())


def beside(keys: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
    """Keys with the terms of their organization's plan in the same query, for `read`."""
    return keys.annotate(plan_terms=_beside("organization__plan_id"))


def read(key: ApiKey) -> PlanTerms:
    """The terms that `beside` read with a key."""
    return _terms(key.plan_terms)  # type: ignore[attr-defined]


def _beside(plan_id: str) -> Subquery:
    """The organization's own plan, else the default one, as one JSON object."""
    mine = Plan.objects.filter(Q(pk=OuterRef(plan_id)) | Q(is_default=True)).order_by("is_default")
    return Subquery(mine.values(terms=JSONObject(**{name: name for name in _COLUMNS}))[:1])


def _terms(row: dict[str, Any] | None) -> PlanTerms:
    if row is None:
        return DEFAULT_PLAN
    return PlanTerms(**(row | {"surfaces": frozenset(row["surfaces"])}))
