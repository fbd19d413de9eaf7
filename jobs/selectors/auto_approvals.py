"""Reads of the rule that approves quotes."""

from dataclasses import dataclass
from uuid import UUID

from jobs.models import AutoApproval


@dataclass(frozen=True, slots=True)
class Rule:
    """Whether quotes are approved automatically; a ceiling of None is none."""

    enabled: bool = False
    max_job_cents: int | None = None
    max_day_cents: int | None = None


def rule(organization_id: UUID) -> Rule:
    """The organization's rule; off before it was ever set."""
    row = AutoApproval.objects.filter(organization_id=organization_id).first()
    return Rule(row.enabled, row.max_job_cents, row.max_day_cents) if row else Rule()
