"""Objects as files of the local disk: one file per object, replaced by renaming, never changed in place.

    <root>/objects/<key>       what readers see
    <root>/unfinished/<key with commas>,<random>
                               what writers are at; the same file system, so a finished file is moved by a rename

An ETag is the time of writing, the size and the file's number, read from the opened file: whoever has a file open
reads that version to its end, and whoever opens it later with another version's ETag is told so.
"""

import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from io import FileIO
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlencode

from django.utils.http import content_disposition_header

from anex.core import clock
from jobs.storage import policy
from jobs.storage.interface import BLOCK_BYTES, ObjectChanged, ObjectMissing, Stored, StoreUnavailable, UploadTarget
from jobs.storage.keys import is_valid

UPLOAD_PATH = "/storage/upload"
OBJECT_PATH = "/storage/object/"
_MOVE_ATTEMPTS = 10


class LocalWriter:
    """A file that no key names yet."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._stored: Stored | None = None

    def write(self, data: bytes) -> None:
        """Append to the file."""
        with _os_errors():
            self._file.write(data)

    @property
    def stored(self) -> Stored:
        """The finished object."""
        if self._stored is None:
            raise RuntimeError("The object is not finished: leave the writer's block first.")
        return self._stored

    def finish(self, key: str) -> None:
        """Make the bytes durable and fix the version they are."""
        with _os_errors():
            self._file.flush()
            # The kernel's own stamps are coarse; two versions within one of its ticks must differ.
            now = time.time_ns()
            os.utime(self._file.fileno(), ns=(now, now))
            os.fsync(self._file.fileno())
            self._stored = _stored(key, os.fstat(self._file.fileno()))


class LocalStore:
    """The store of one region below `root`; uploads and downloads go through `jobs.storage.asgi`."""

    def __init__(self, root: Path, *, region: str, public_url: str, secret: str) -> None:
        self.bucket = f"anex-{region}"
        self.signer = policy.Signer("anex", secret, region, self.bucket)
        self._public_url = public_url.rstrip("/")
        self._objects = root / "objects"
        self._unfinished = root / "unfinished"

    def put(self, key: str, data: bytes) -> Stored:
        """See Store."""
        with self.writer(key) as writer:
            writer.write(data)
        return writer.stored

    def add(self, key: str, data: bytes) -> None:
        """See Store; written in place, which takes half as long as `put`."""
        target = self._path(key)
        with _os_errors():
            try:
                file = target.open("xb", buffering=0)
            except FileNotFoundError:
                for folder in _make_folder(target.parent):
                    _sync(folder.parent)
                file = target.open("xb", buffering=0)
            try:
                with file:
                    _write_all(file, data)
                    os.fsync(file.fileno())
            except OSError:
                target.unlink(missing_ok=True)
                raise
            _sync(target.parent)

    @contextmanager
    def writer(self, key: str, *, total_bytes: int | None = None) -> Iterator[LocalWriter]:
        """See Store; a file needs no `total_bytes`."""
        target = self._path(key)
        unfinished = self._unfinished / f"{_flat(key)}{secrets.token_hex(16)}"
        with _os_errors():
            self._unfinished.mkdir(parents=True, exist_ok=True)
            file = unfinished.open("xb")
        try:
            try:
                writer = LocalWriter(file)
                yield writer
                writer.finish(key)
            finally:
                # Closing writes what is left in the buffer: where the disk is full it fails once more.
                with _os_errors():
                    file.close()
            with _os_errors():
                _move(unfinished, target)
        finally:
            # What cannot be removed now is found by `discard_unfinished`.
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)

    def read(self, key: str, *, etag: str | None = None) -> bytes:
        """See Store."""
        with self.open(key, etag=etag) as (file, _), _os_errors():
            return file.read()

    def read_range(self, key: str, start: int, end: int, *, etag: str | None = None) -> bytes:
        """See Store."""
        with self.open(key, etag=etag) as (file, _), _os_errors():
            file.seek(start)
            return file.read(max(0, end - start))

    def stream(self, key: str, *, etag: str | None = None, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """See Store."""
        with self.open(key, etag=etag) as (file, stored), _os_errors():
            file.seek(start)
            left = (stored.size if end is None else end) - start
            while left > 0 and (block := file.read(min(BLOCK_BYTES, left))):
                left -= len(block)
                yield block

    @contextmanager
    def open(self, key: str, *, etag: str | None = None) -> Iterator[tuple[BinaryIO, Stored]]:
        """One version of an object, to read from. Raises ObjectMissing, ObjectChanged."""
        with _os_errors():
            try:
                file = self._path(key).open("rb")
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                raise ObjectMissing(f"No object is stored as {key}.") from None
        with file:
            stored = _stored(key, os.fstat(file.fileno()))
            if etag is not None and etag != stored.etag:
                raise ObjectChanged(f"The object {key} was replaced.")
            yield file, stored

    def stat(self, key: str) -> Stored | None:
        """See Store."""
        try:
            with self.open(key) as (_, stored):
                return stored
        except ObjectMissing:
            return None

    def list(self, prefix: str) -> Iterator[Stored]:
        """See Store."""
        folder = self._objects / prefix.rpartition("/")[0]
        for parent, _, names in os.walk(folder):
            for name in names:
                path = Path(parent, name)
                key = path.relative_to(self._objects).as_posix()
                if key.startswith(prefix):
                    # What is deleted while the walk is on was never promised.
                    with suppress(FileNotFoundError):
                        yield _stored(key, path.stat())

    def delete(self, keys: Iterable[str]) -> None:
        """See Store; folders that become empty go too."""
        failed = list[StoreUnavailable]()
        for key in keys:
            path = self._path(key)
            try:
                with _os_errors(), suppress(FileNotFoundError, NotADirectoryError):
                    path.unlink()
                self._prune(path.parent)
            except StoreUnavailable as error:
                failed.append(error)
        if failed:
            raise failed[0]

    def discard_unfinished(self, *, before: datetime, key: str = "") -> int:
        """See Store."""
        dropped = 0
        for path in self._unfinished.glob(f"{_flat(key)}*" if key else "*"):
            with _os_errors(), suppress(FileNotFoundError):
                if path.stat().st_mtime < before.timestamp():
                    path.unlink()
                    dropped += 1
        return dropped

    def presign_upload(
        self, key: str, *, max_bytes: int, expires_at: datetime, return_to: str | None = None
    ) -> UploadTarget:
        """See Store."""
        self._path(key)
        fields = policy.sign_upload(
            self.signer, key=key, max_bytes=max_bytes, expires_at=expires_at, now=clock.now(), return_to=return_to
        )
        return UploadTarget(self._public_url + UPLOAD_PATH, fields)

    def presign_download(self, key: str, *, expires_in_s: int, filename: str) -> str:
        """See Store."""
        self._path(key)
        query = policy.sign_link(
            self.signer,
            path=OBJECT_PATH + key,
            disposition=content_disposition_header(True, filename) or "attachment",
            expires_in_s=expires_in_s,
            now=clock.now(),
        )
        return f"{self._public_url}{OBJECT_PATH}{key}?{urlencode(query)}"

    def _path(self, key: str) -> Path:
        if not is_valid(key):
            raise ValueError(f"Not a key of the store: {key!r}")
        return self._objects / key

    def _prune(self, folder: Path) -> None:
        while folder != self._objects:
            try:
                folder.rmdir()
            except FileNotFoundError:
                pass
            except OSError:
                return
            folder = folder.parent


def _flat(key: str) -> str:
    """A key as the beginning of one file's name."""
    return f"{key.replace('/', ',')},"


def _move(source: Path, target: Path) -> None:
    """Rename durably. A delete next door may take an empty folder away at any moment: make it again."""
    for attempt in range(_MOVE_ATTEMPTS):
        try:
            made = _make_folder(target.parent)
            source.replace(target)
            break
        except (FileNotFoundError, FileExistsError):
            if attempt == _MOVE_ATTEMPTS - 1:
                raise
    for folder in {target.parent, *(path.parent for path in made)}:
        _sync(folder)


def _write_all(file: FileIO, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def _make_folder(folder: Path) -> list[Path]:
    """Create a folder and its missing parents; answers the new ones."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        path.mkdir(exist_ok=True, parents=True)
    return missing


def _sync(folder: Path) -> None:
    # A folder deleted meanwhile has nothing left to lose.
    with suppress(FileNotFoundError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _stored(key: str, status: os.stat_result) -> Stored:
    return Stored(key, status.st_size, f"{status.st_mtime_ns:x}-{status.st_size:x}-{status.st_ino:x}")


@contextmanager
def _os_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # The path stays out of the message: it may reach a customer.
        raise StoreUnavailable(f"The store cannot be used: {error.strerror}.") from error
