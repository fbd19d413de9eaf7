"""The versions of objects that rows name: for whoever moves a store, since an ETag is of one store."""

from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Model

from jobs.models import File, Input, Job

# Table, column of the key, column of the ETag, when what it names was erased.
_COLUMNS: tuple[tuple[type[Model], str, str, str], ...] = (
    (Input, "key", "etag", "purged_at"),
    (Job, "rows_key", "rows_etag", "data_deleted_at"),
    (File, "key", "etag", "purged_at"),
)


@dataclass(slots=True)
class Pin:
    """The version of an object that rows name; each by its table's place in `_COLUMNS` and its id."""

    etag: str
    rows: list[tuple[int, UUID]] = field(default_factory=list)


def of(region: str) -> dict[str, Pin]:
    """What a region has to keep, by key."""
    found: dict[str, Pin] = {}
    for place, (model, key, etag, erased_at) in enumerate(_COLUMNS):
        kept = model._default_manager.filter(**{"region": region, erased_at: None}).exclude(**{etag: ""})
        for pk, name, version in kept.values_list("pk", key, etag).iterator():
            found.setdefault(name, Pin(version)).rows.append((place, pk))
    return found


def renew(pin: Pin, etag: str) -> None:
    """Name what has become of the version in another store."""
    for place, pk in pin.rows:
        model, _, column, _ = _COLUMNS[place]
        model._default_manager.filter(pk=pk, **{column: pin.etag}).update(**{column: etag})
