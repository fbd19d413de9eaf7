"""Reads of organizations."""

from typing import Final
from uuid import UUID

from accounts.models import Organization
from anex.core.errors import Forbidden

_NOT_ROUTED: Final = "EU data routing is not enabled for this organization. Contact us to enable it."


def routes_to_eu(organization_id: UUID) -> bool:
    """Whether the organization's data may be in the EEA; a job's is unless a request says otherwise."""
    return Organization.objects.filter(pk=organization_id, eu_routing=True).exists()


def not_routed_to_eu() -> Forbidden:
    """The 403 for what asks for the EEA without EU data routing (reference 003, data_residency and realtime)."""
    return Forbidden(_NOT_ROUTED)
