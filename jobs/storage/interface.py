"""What the platform asks of a store of objects, whichever holds them: the local disk or S3.

Everything is synchronous and thread-safe. Keys are those of `jobs.storage.keys`. An ETag names one version of an
object: a read that gives it fails once the object was replaced, so whoever pinned an ETag never sees other bytes.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from anex.core.errors import AnexError, Unavailable

BLOCK_BYTES = 4 * 1024 * 1024
# An upload that began in its window may take this long.
UPLOAD_LIMIT_S = 3600


class ObjectMissing(AnexError):
    """No object has this key."""


class ObjectChanged(AnexError):
    """The object is no longer the version whose ETag was given."""


class StoreUnavailable(Unavailable):
    """The store did not answer or refused; trying again later may help."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One version of an object; `size` in bytes."""

    key: str
    size: int
    etag: str


@dataclass(frozen=True, slots=True)
class UploadTarget:
    """A form POST: every entry of `fields` as a form field, then the file as the field `file`, last."""

    url: str
    fields: dict[str, str]


class Writer(Protocol):
    """An object being written."""

    def write(self, data: bytes) -> None:
        """Append; memory stays bounded however much is written."""

    @property
    def stored(self) -> Stored:
        """The finished object; only after the writer's block was left without an exception."""


class Store(Protocol):
    """Objects of one region. Every method may raise StoreUnavailable."""

    bucket: str

    def put(self, key: str, data: bytes) -> Stored:
        """Store a small object whole, replacing an older one at once."""

    def add(self, key: str, data: bytes) -> None:
        """Store a small object under a key that was never used, and that nobody reads before this has returned."""

    def writer(self, key: str, *, total_bytes: int | None = None) -> AbstractContextManager[Writer]:
        """Write a large object piece by piece; it appears whole on a clean exit and not at all otherwise.

        `total_bytes`, where known, sizes the pieces for stores that count them.
        """

    def read(self, key: str, *, etag: str | None = None) -> bytes:
        """The whole object. Raises ObjectMissing, ObjectChanged."""

    def read_range(self, key: str, start: int, end: int, *, etag: str | None = None) -> bytes:
        """Bytes [start, end), fewer where the object ends before. Raises ObjectMissing, ObjectChanged."""

    def stream(self, key: str, *, etag: str | None = None, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """Bytes [start, end) of one version, in blocks of BLOCK_BYTES. Raises ObjectMissing, ObjectChanged."""

    def stat(self, key: str) -> Stored | None:
        """The object's present version, or None."""

    def list(self, prefix: str) -> Iterator[Stored]:
        """Every object whose key starts with `prefix`, in no promised order."""

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; a key without one is no error, and one that cannot be deleted stops no other."""

    def discard_unfinished(self, *, before: datetime, key: str = "") -> int:
        """Drop what writers that died have left since before `before`, of one `key` or all; answers how many."""

    def presign_upload(
        self, key: str, *, max_bytes: int, expires_at: datetime, return_to: str | None = None
    ) -> UploadTarget:
        """A form POST that stores 0 to `max_bytes` bytes under exactly `key` until `expires_at`.

        It is answered 204, or sends a browser on to the URL `return_to`.
        """

    def presign_download(self, key: str, *, expires_in_s: int, filename: str) -> str:
        """A link that downloads the object as a file of this name; valid for `expires_in_s` seconds."""
