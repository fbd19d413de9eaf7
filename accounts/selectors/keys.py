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


def of(organization_id: UUID) -> list[ApiKey]:
    """The organization's keys with their creators, active ones first, newest first; those of the playground are not
    among them."""
    listed = ApiKey.objects.filter(organization_id=organization_id, for_playground=False)
    keys = listed.select_related("created_by").order_by("-created_at")
    return sorted(keys, key=lambda key: key.revoked_at is not None)


def has_any(organization_id: UUID) -> bool:
    """Whether `of` lists one."""
    return ApiKey.objects.filter(organization_id=organization_id, for_playground=False).exists()


def names(organization_id: UUID, key_ids: Iterable[str]) -> dict[str, str]:
    """What some keys of the organization are called, revoked ones too."""
    mine = ApiKey.objects.filter(organization_id=organization_id, pk__in=list(key_ids))
    return dict(mine.values_list("pk", "name"))


def get(organization_id: UUID, key_id: str) -> ApiKey:
    """One of the keys that `of` lists; raises NotFound (404) for any other."""
    key = ApiKey.objects.filter(pk=key_id, organization_id=organization_id, for_playground=False).first()
    if key is None:
        raise NotFound("There is no such key.")
    return key
