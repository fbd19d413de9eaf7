"""Reads of who belongs where."""

from uuid import UUID

from accounts.models import Membership


def current(user_id: int, preferred: UUID | None = None) -> Membership | None:
    """The membership a person acts under: the preferred organization's if they are in it, else their oldest."""
    found = Membership.objects.filter(user_id=user_id).select_related("organization")
    chosen = found.filter(organization_id=preferred).first() if preferred else None
    return chosen or found.order_by("created_at", "pk").first()
