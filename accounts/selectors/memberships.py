"""Reads of who belongs where."""

from accounts.models import Membership


def current(user_id: int) -> Membership | None:
    """The membership a person acts under: their oldest; None for a person in no organization."""
    found = Membership.objects.filter(user_id=user_id).select_related("organization")
    return found.order_by("created_at", "pk").first()
