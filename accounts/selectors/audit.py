"""Reads of an organization's audit record, newest first."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from accounts.models import AuditEvent
from accounts.selectors import actors
from anex.core.money import cents_to_nano, format_dollars

# The platform and its staff, who are not told apart (see `actors.describe`).
ANEX = "anex"


@dataclass(frozen=True, slots=True)
class Filter:
    """What to show: an actor as `kind:id` or `anex`, an action, whole days in UTC; empty is everything."""

    actor: str = ""
    action: str = ""
    since: date | None = None
    until: date | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One event as its organization reads it."""

    id: int
    at: datetime
    actor: str
    actor_id: str
    action: str
    target: str
    reason: str
    details: dict[str, Any]


def entries(organization_id: UUID, wanted: Filter, *, before: int | None = None, limit: int) -> list[Entry]:
    """At most `limit` events, from the one before `before` on."""
    found = _matching(organization_id, wanted).order_by("-id")
    if before is not None:
        found = found.filter(id__lt=before)
    events = list(found[:limit])
    names = actors.names(organization_id, {f"{event.actor_kind}:{event.actor_id}" for event in events})
    return [_entry(event, names) for event in events]


def about(organization_id: UUID, target: str, *, limit: int) -> list[Entry]:
    """The last `limit` events that name a thing, e.g. a job by its id, oldest first."""
    found = AuditEvent.objects.filter(organization_id=organization_id, target=target)
    events = list(found.order_by("-id")[:limit])[::-1]
    names = actors.names(organization_id, {f"{event.actor_kind}:{event.actor_id}" for event in events})
    return [_entry(event, names) for event in events]


def choices(organization_id: UUID) -> tuple[list[tuple[str, str]], list[str]]:
    """Who and what the record can be filtered by: actors with their names, and actions."""
    mine = AuditEvent.objects.filter(organization_id=organization_id).order_by()
    seen = list(mine.values_list("actor_kind", "actor_id", "action").distinct())
    known = {f"{kind}:{identity}" for kind, identity, _ in seen}
    people = {actor for actor in known if actor.startswith(("user:", "key:"))}
    named = sorted(actors.names(organization_id, people).items(), key=lambda pair: pair[1])
    platform = [(ANEX, "Anex")] if known - people else []
    return named + platform, sorted({action for *_, action in seen})


def _matching(organization_id: UUID, wanted: Filter) -> QuerySet[AuditEvent]:
    found = AuditEvent.objects.filter(organization_id=organization_id)
    if wanted.actor == ANEX:
        found = found.filter(actor_kind__in=("staff", "system"))
    elif wanted.actor:
        kind, _, identity = wanted.actor.partition(":")
        found = found.filter(actor_kind=kind, actor_id=identity)
    if wanted.action:
        found = found.filter(action=wanted.action)
    if wanted.since:
        found = found.filter(at__gte=_midnight(wanted.since))
    if wanted.until:
        found = found.filter(at__lt=_midnight(wanted.until) + timedelta(days=1))
    return found


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)


def _entry(event: AuditEvent, names: dict[str, str]) -> Entry:
    theirs = event.actor_kind in ("user", "key")
    return Entry(
        id=event.pk,
        at=event.at,
        actor=names[f"{event.actor_kind}:{event.actor_id}"],
        actor_id=f"{event.actor_kind}:{event.actor_id}" if theirs else ANEX,
        action=event.action,
        target=event.target,
        reason=event.reason,
        details=event.details,
    )


def details_text(details: dict[str, Any]) -> str:
    """The details as `name: value` pairs, in words rather than in code."""
    return "; ".join(_pair(name.split("_"), value) for name, value in details.items())


def _pair(words: list[str], value: Any) -> str:
    if "cents" in words:
        words = [word for word in words if word != "cents"] or ["amount"]
        value = value if value is None else format_dollars(cents_to_nano(value))
    if words[-1] == "until" and value:
        value = f"{datetime.fromisoformat(value):%Y-%m-%d %H:%M} UTC"
    return f"{' '.join(words)}: {_text(value)}"


def _text(value: Any) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(_text(item) for item in value) or "none"
        case _:
            return str(value)
