"""Notices that the console shows."""

from accounts.models import Notice


def current() -> list[str]:
    """What people are told now, the newest first."""
    return list(Notice.objects.filter(ended_at=None).order_by("-pk").values_list("text", flat=True))
