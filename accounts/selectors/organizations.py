"""Reads of organizations."""

from uuid import UUID

from accounts.models import Organization


def routes_to_eu(organization_id: UUID) -> bool:
    """Whether the organization's batch data may live in the EEA, and does unless a request says otherwise."""
    return Organization.objects.filter(pk=organization_id, eu_routing=True).exists()
