"""What only the local disk has to answer for: paths, folders, open files, and which store a process uses."""

import resource
from pathlib import Path
from typing import Any

import pytest

from jobs import storage
from jobs.storage.interface import StoreUnavailable
from jobs.storage.local import LocalStore
from jobs.storage.s3 import MIB, S3Store, part_bytes


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path, region="world", public_url="http://127.0.0.1:1/", secret="secret")


@pytest.mark.parametrize("key", ["../outside", "/etc/passwd", "a/../../outside", "", "a\0"])
def test_a_key_that_leaves_the_store_is_never_used(store: LocalStore, tmp_path: Path, key: str) -> None:
    for call in (
        lambda: store.put(key, b"x"),
        lambda: store.read(key),
        lambda: store.stat(key),
        lambda: store.delete([key]),
        lambda: store.presign_download(key, expires_in_s=1, filename="f"),
    ):
        with pytest.raises(ValueError, match="Not a key"):
            call()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_folders_that_become_empty_are_removed(store: LocalStore, tmp_path: Path) -> None:
    store.put("jobs/a/parts/1", b"x")
    store.put("jobs/b/result", b"x")
    store.delete(["jobs/a/parts/1"])
    assert {path.relative_to(tmp_path / "objects").as_posix() for path in (tmp_path / "objects").rglob("*")} == {
        "jobs",
        "jobs/b",
        "jobs/b/result",
    }


def test_a_reader_keeps_the_version_it_opened(store: LocalStore) -> None:
    old = store.put("jobs/a/result", b"old" * 3_000_000)
    blocks = store.stream("jobs/a/result", etag=old.etag)
    first = next(blocks)
    store.put("jobs/a/result", b"new")
    assert first + b"".join(blocks) == b"old" * 3_000_000


def test_a_disk_that_refuses_is_unavailable_and_names_no_path(store: LocalStore, tmp_path: Path) -> None:
    (tmp_path / "unfinished").write_text("a file where a folder belongs")
    with pytest.raises(StoreUnavailable) as caught:
        store.put("jobs/a/result", b"x")
    assert str(tmp_path) not in caught.value.message
    assert caught.value.status == 503


def test_a_folder_is_no_object(store: LocalStore) -> None:
    store.put("jobs/a/result", b"x")
    assert store.stat("jobs/a") is None
    assert store.stat("jobs/a/result/below") is None
    store.delete(["jobs/a/result/below"])
    assert store.read("jobs/a/result") == b"x"


def test_the_local_disk_is_used_until_a_bucket_is_named(settings: Any, tmp_path: Path) -> None:
    settings.ANEX_STORAGE_DIR = tmp_path
    assert isinstance(storage.store("world"), LocalStore)
    assert storage.store("world").bucket == "anex-world"
    settings.ANEX_S3_BUCKET = "rows"
    assert isinstance(storage.store("world"), S3Store)
    assert storage.store("world").bucket == "rows"


def test_the_store_of_another_region_is_out_of_reach(settings: Any) -> None:
    with pytest.raises(StoreUnavailable, match="eu"):
        storage.store("eu")


@pytest.mark.parametrize(
    ("total", "size"),
    [(None, 16 * MIB), (0, 16 * MIB), (10_000 * 16 * MIB, 16 * MIB), (10_000 * 16 * MIB + 1, 17 * MIB)],
)
def test_s3_parts_grow_so_that_ten_thousand_suffice(total: int | None, size: int) -> None:
    assert part_bytes(total) == size


def test_a_full_disk_is_an_outage_and_leaves_nothing_behind(store: LocalStore, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * MIB, hard))
    try:
        with pytest.raises(StoreUnavailable), store.writer("jobs/a/result") as writer:
            for _ in range(5000):
                writer.write(b"x" * 1000)
        with pytest.raises(StoreUnavailable):
            store.add("jobs/a/part", b"x" * 5_000_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
