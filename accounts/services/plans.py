"""Plans: made and changed by staff, and given to organizations. What changes is in force from the next request on."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.core.validators import slug_re
from django.db import transaction

from accounts.models import Organization, Plan
from accounts.plans import PlanTerms
from accounts.services import audit
from anex.core.actors import Actor
from anex.core.errors import Conflict, InvalidRequest, NotFound

MAX_SLUG_LENGTH = 50


@transaction.atomic
def create(*, terms: PlanTerms, actor: Actor, reason: str) -> Plan:
    """A plan that no organization is on yet.

    Raises InvalidRequest (400) without a reason or for terms that make no sense, Conflict (409) for a slug in use.
    """
    audit.require_reason(reason)
    terms = terms.check()
    if len(terms.slug) > MAX_SLUG_LENGTH or not slug_re.fullmatch(terms.slug):
        raise InvalidRequest(f"A slug is 1 to {MAX_SLUG_LENGTH} letters, digits and hyphens.", param="slug")
    plan, made = Plan.objects.get_or_create(slug=terms.slug, defaults=_columns(terms))
    if not made:
        raise Conflict(f"There is a plan {terms.slug} already.")
    _record("plan.create", plan, actor, reason, details=_columns(terms))
    return plan


@transaction.atomic
def change(*, plan_id: int, terms: PlanTerms, actor: Actor, reason: str) -> None:
    """Other terms for everybody on the plan; its slug stays. Raises as `create`, and NotFound (404)."""
    audit.require_reason(reason)
    plan = _locked(plan_id)
    was, now = {name: getattr(plan, name) for name in _columns(terms)}, _columns(terms.check())
    Plan.objects.filter(pk=plan.pk).update(**now)
    changed = {name: value for name, value in now.items() if value != was[name]}
    details = changed | {f"{name}_was": was[name] for name in changed}
    _record("plan.change", plan, actor, reason, details=details)


@transaction.atomic
def make_default(*, plan_id: int, actor: Actor, reason: str) -> None:
    """Put every organization without a plan of its own on this one. Raises InvalidRequest, NotFound (404)."""
    audit.require_reason(reason)
    # Whoever makes another plan the default at the same time waits here.
    former = list(Plan.objects.select_for_update().filter(is_default=True).values_list("slug", flat=True))
    plan = _locked(plan_id)
    Plan.objects.filter(is_default=True).update(is_default=False)
    Plan.objects.filter(pk=plan.pk).update(is_default=True)
    _record("plan.make_default", plan, actor, reason, details={"was": former})


@transaction.atomic
def give(*, organization_id: UUID, plan_id: int | None, actor: Actor, reason: str) -> None:
    """Put an organization on a plan, None for the default one. Raises InvalidRequest (400), NotFound (404)."""
    audit.require_reason(reason)
    plan = None if plan_id is None else Plan.objects.filter(pk=plan_id).first()
    if plan_id is not None and plan is None:
        raise NotFound("There is no such plan.")
    organization = (
        Organization.objects.select_for_update(no_key=True, of=("self",))
        .select_related("plan")
        .filter(pk=organization_id)
        .first()
    )
    if organization is None:
        raise NotFound("There is no such organization.")
    details = {"plan": plan and plan.slug, "was": organization.plan and organization.plan.slug}
    Organization.objects.filter(pk=organization_id).update(plan=plan)
    audit.record(
        organization_id=organization_id, actor=actor, action="organization.plan", reason=reason, details=details
    )


def _columns(terms: PlanTerms) -> dict[str, Any]:
    columns = asdict(terms)
    del columns["slug"]
    return columns | {"surfaces": terms.sorted_surfaces}


def _locked(plan_id: int) -> Plan:
    plan = Plan.objects.select_for_update().filter(pk=plan_id).first()
    if plan is None:
        raise NotFound("There is no such plan.")
    return plan


def _record(action: str, plan: Plan, actor: Actor, reason: str, details: dict[str, Any]) -> None:
    audit.record(
        organization_id=None, actor=actor, action=action, target=f"plan:{plan.slug}", reason=reason, details=details
    )
