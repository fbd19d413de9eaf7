"""The objects of a region's store, copied into a folder and back."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from jobs.services import pins
from jobs.storage.interface import ObjectChanged, ObjectMissing, Store, Stored

_BLOCK_BYTES = 4 * 1024 * 1024


class BrokenCopy(Exception):
    """What lies in the folder is not what was copied into it."""


@dataclass(frozen=True, slots=True)
class Copy:
    """An object in the folder; `etag` is the one it had in its store."""

    key: str
    size: int
    etag: str
    sha256: str


def copy(store: Store, folder: Path) -> int:
    """Copy every object; answers how many. One that is deleted or replaced meanwhile was given up by its owner."""
    count = 0
    with (folder / "objects.jsonl").open("w") as listing:
        for found in store.list(""):
            try:
                copied = _copy(store, found, folder / "objects" / found.key)
            except (ObjectMissing, ObjectChanged):
                continue
            listing.write(json.dumps(asdict(copied)) + "\n")
            count += 1
    return count


def put_back(folder: Path, store: Store, *, region: str) -> tuple[int, list[str]]:
    """Put every object into the store and pin it anew: an ETag is of one store.

    Answers how many there are, and the keys that the database names and the folder lacks. Raises BrokenCopy.
    """
    pinned, count = pins.of(region), 0
    for copied in listed(folder):
        stored = _put_back(folder / "objects" / copied.key, copied, store)
        pin = pinned.get(copied.key)
        if pin and pin.etag == copied.etag:
            pins.renew(pin, stored.etag)
            del pinned[copied.key]
        count += 1
    return count, sorted(pinned)


def listed(folder: Path) -> Iterator[Copy]:
    """What was copied."""
    with (folder / "objects.jsonl").open() as listing:
        for line in listing:
            yield Copy(**json.loads(line))


def _copy(store: Store, found: Stored, target: Path) -> Copy:
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    try:
        with target.open("xb") as file:
            for block in store.stream(found.key, etag=found.etag):
                digest.update(block)
                file.write(block)
    except (ObjectMissing, ObjectChanged):
        target.unlink()
        raise
    return Copy(found.key, found.size, found.etag, digest.hexdigest())


def _put_back(source: Path, copied: Copy, store: Store) -> Stored:
    try:
        with source.open("rb") as file:
            if _digest(file) != copied.sha256:
                raise BrokenCopy(f"objects/{copied.key} is not what was copied.")
            file.seek(0)
            with store.writer(copied.key, total_bytes=copied.size) as writer:
                while block := file.read(_BLOCK_BYTES):
                    writer.write(block)
            return writer.stored
    except FileNotFoundError:
        raise BrokenCopy(f"objects/{copied.key} is missing.") from None


def _digest(file: IO[Any]) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
