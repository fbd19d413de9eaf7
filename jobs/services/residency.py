"""In which region an input or a job is kept (references 001 and 003, data_residency)."""

from uuid import UUID

from django.conf import settings

from accounts.selectors import organizations
from jobs.storage.regions import elsewhere


def choose(*, organization_id: UUID, asked: str | None) -> str:
    """The region of something new: the one asked for, else eu for an organization with EU data routing.

    Raises Forbidden (403) for eu without EU data routing, Misdirected (421) for what the other region's API takes.
    """
    routed = organizations.routes_to_eu(organization_id)
    region = asked or ("eu" if routed else "world")
    if region == "eu" and not routed:
        raise organizations.not_routed_to_eu()
    require_here(region)
    return region


def require_here(region: str) -> None:
    """Misdirected (421) for data of another region than this process serves."""
    if region != settings.ANEX_REGION:
        raise elsewhere(region)
