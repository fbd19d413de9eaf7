"""Reads of API keys."""

from uuid import UUID

from accounts.models import ApiKey
from anex.core.errors import NotFound


def of(organization_id: UUID) -> list[ApiKey]:
    """The organization's keys with their creators, active ones first, newest first."""
    keys = ApiKey.objects.filter(organization_id=organization_id).select_related("created_by").order_by("-created_at")
    return sorted(keys, key=lambda key: key.revoked_at is not None)


def get(organization_id: UUID, key_id: str) -> ApiKey:
    """One key of the organization; raises NotFound (404) for any other."""
    key = ApiKey.objects.filter(pk=key_id, organization_id=organization_id).first()
    if key is None:
        raise NotFound("There is no such key.")
    return key
