"""Reads of API keys."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from django.db.models import Q

from accounts.models import ApiKey
from anex.core.errors import NotFound


@dataclass(frozen=True, slots=True)
class LimitedKey:
    """A key with a ceiling; cents by period, None where there is none."""

    key_id: str
    organization_id: UUID
    name: str
    ceilings: dict[Literal["daily", "weekly", "monthly"], int | None]


def with_ceilings(now: datetime) -> list[LimitedKey]:
    """The keys of every organization that work now and have a ceiling, for what watches over their spending."""
    limited = Q(daily_ceiling_cents__gt=0) | Q(weekly_ceiling_cents__gt=0) | Q(monthly_ceiling_cents__gt=0)
    working = ApiKey.objects.filter(Q(expires_at=None) | Q(expires_at__gt=now), limited, revoked_at=None)
    return [
        LimitedKey(
            key.pk,
            key.organization_id,
            key.name,
            {
                "daily": key.daily_ceiling_cents,
                "weekly": key.weekly_ceiling_cents,
                "monthly": key.monthly_ceiling_cents,
            },
        )
        for key in working
    ]


@dataclass(frozen=True, slots=True)
class Page:
    """Some keys with their creators, the newest first; `older` is the id after which the next page starts."""

    keys: list[ApiKey]
    older: str


def page(organization_id: UUID, *, revoked: bool = False, after: str = "", size: int) -> Page:
    """Keys that are not revoked, or those that are; never those of the playground. An unknown `after` starts anew."""
    mine = ApiKey.objects.filter(organization_id=organization_id, for_playground=False)
    listed = mine.filter(revoked_at__isnull=not revoked).select_related("created_by").order_by("-created_at", "-pk")
    last = mine.filter(pk=after).values_list("created_at", flat=True).first() if after else None
    if last is not None:
        listed = listed.filter(Q(created_at__lt=last) | Q(created_at=last, pk__lt=after))
    found = list(listed[: size + 1])
    return Page(found[:size], found[size - 1].pk if len(found) > size else "")


def has_any(organization_id: UUID) -> bool:
    """Whether there is one, in use or revoked; that of the playground is none."""
    return ApiKey.objects.filter(organization_id=organization_id, for_playground=False).exists()


def names(organization_id: UUID, key_ids: Iterable[str]) -> dict[str, str]:
    """What some keys of the organization are called, revoked ones too."""
    mine = ApiKey.objects.filter(organization_id=organization_id, pk__in=list(key_ids))
    return dict(mine.values_list("pk", "name"))


def get(organization_id: UUID, key_id: str) -> ApiKey:
    """One key; raises NotFound (404) for any other, and for one of the playground."""
    key = ApiKey.objects.filter(pk=key_id, organization_id=organization_id, for_playground=False).first()
    if key is None:
        raise NotFound("There is no such key.")
    return key
