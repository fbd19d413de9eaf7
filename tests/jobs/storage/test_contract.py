"""What every store promises, checked on the local disk (behind its web server) and on S3, as two servers know it."""

import os
import pickle
import threading
import uuid
from datetime import UTC, datetime, timedelta

import pytest
import requests

from anex.core import clock
from jobs.storage.interface import BLOCK_BYTES, ObjectChanged, ObjectMissing, Store, StoreUnavailable
from tests.jobs.storage import strict_s3

MIB = 1024 * 1024
# An S3 server of these tests says that every multipart upload began in November 2010.
REFUSALS = {(400, "EntityTooLarge"), (403, "AccessDenied"), (403, "SignatureDoesNotMatch")}
LONG_AGO = datetime(2010, 1, 1, tzinfo=UTC)


@pytest.fixture
def prefix() -> str:
    return f"jobs/{uuid.uuid4()}/"


@pytest.fixture
def key(prefix: str) -> str:
    return f"{prefix}result.jsonl"


def test_put_is_read_back_and_known_by_size_and_etag(any_store: Store, key: str) -> None:
    stored = any_store.put(key, b"one\n")
    assert any_store.read(key) == b"one\n"
    assert any_store.stat(key) == stored
    assert (stored.key, stored.size) == (key, 4)


def test_what_was_added_under_a_new_key_is_there(any_store: Store, key: str) -> None:
    any_store.add(key, b"one\n")
    assert any_store.read(key) == b"one\n"
    assert [stored.key for stored in any_store.list(key)] == [key]


def test_an_empty_object_is_an_object(any_store: Store, key: str) -> None:
    stored = any_store.put(key, b"")
    assert any_store.read(key, etag=stored.etag) == b""
    assert list(any_store.stream(key)) == []
    assert any_store.read_range(key, 0, 10) == b""


def test_a_missing_object_is_named_missing(any_store: Store, key: str) -> None:
    assert any_store.stat(key) is None
    for read in (
        lambda: any_store.read(key),
        lambda: any_store.read_range(key, 0, 1),
        lambda: any_store.read_range(key, 1, 1),
        lambda: next(any_store.stream(key)),
    ):
        with pytest.raises(ObjectMissing):
            read()


def test_ranges_end_where_the_object_ends(any_store: Store, key: str) -> None:
    any_store.put(key, b"0123456789")
    assert any_store.read_range(key, 2, 5) == b"234"
    assert any_store.read_range(key, 8, 99) == b"89"
    assert any_store.read_range(key, 10, 20) == b""
    assert any_store.read_range(key, 3, 3) == b""


def test_stream_yields_bounded_blocks_of_a_range(any_store: Store, key: str) -> None:
    data = os.urandom(2 * BLOCK_BYTES + 100)
    stored = any_store.put(key, data)
    blocks = list(any_store.stream(key, etag=stored.etag))
    assert b"".join(blocks) == data
    assert max(map(len, blocks)) <= BLOCK_BYTES
    assert b"".join(any_store.stream(key, start=50, end=BLOCK_BYTES + 60)) == data[50 : BLOCK_BYTES + 60]
    assert b"".join(any_store.stream(key, start=len(data) - 5)) == data[-5:]


def test_reads_that_name_an_older_version_are_refused(any_store: Store, key: str) -> None:
    old = any_store.put(key, b"aaaa")
    new = any_store.put(key, b"bbbb")
    assert old.etag != new.etag
    for read in (
        lambda: any_store.read(key, etag=old.etag),
        lambda: any_store.read_range(key, 0, 2, etag=old.etag),
        lambda: list(any_store.stream(key, etag=old.etag)),
    ):
        with pytest.raises(ObjectChanged):
            read()
    assert any_store.read(key, etag=new.etag) == b"bbbb"


def test_many_versions_written_at_once_have_many_etags(any_store: Store, key: str) -> None:
    etags = {any_store.put(key, str(number).zfill(4).encode()).etag for number in range(50)}
    assert len(etags) == 50


@pytest.mark.parametrize("size", [0, 10, 16 * MIB, 33 * MIB + 7])
def test_a_written_object_appears_whole_on_exit(any_store: Store, key: str, size: int) -> None:
    data = os.urandom(size)
    with any_store.writer(key) as writer:
        for start in range(0, size, 5 * MIB):
            writer.write(data[start : start + 5 * MIB])
        assert any_store.stat(key) is None
    assert writer.stored.size == size
    assert any_store.read(key) == data
    assert any_store.read_range(key, size // 2, size) == data[size // 2 :]


@pytest.mark.parametrize("size", [10, 17 * MIB])
def test_a_written_object_is_known_by_the_etag_its_writer_was_told(any_store: Store, key: str, size: int) -> None:
    with any_store.writer(key) as writer:
        writer.write(os.urandom(size))
    assert any_store.stat(key) == writer.stored


def test_a_writer_that_fails_leaves_nothing(any_store: Store, key: str) -> None:
    with pytest.raises(RuntimeError, match="stop"), any_store.writer(key) as writer:
        writer.write(os.urandom(17 * MIB))
        raise RuntimeError("stop")
    assert any_store.stat(key) is None
    assert any_store.discard_unfinished(before=clock.now() + timedelta(days=1)) == 0


def test_unfinished_writes_of_one_key_leave_those_of_another(any_store: Store, key: str) -> None:
    with pytest.raises(StoreUnavailable), any_store.writer(key) as lost, any_store.writer(f"{key}.2") as kept:
        lost.write(os.urandom(17 * MIB))
        kept.write(os.urandom(17 * MIB))
        assert any_store.discard_unfinished(before=clock.now() + timedelta(hours=1), key=key) == 1
        assert any_store.discard_unfinished(before=clock.now() + timedelta(hours=1), key=key) == 0
    assert any_store.stat(key) is None
    assert any_store.stat(f"{key}.2") is not None


def test_unfinished_writes_are_discarded_once_they_are_old(any_store: Store, key: str) -> None:
    with pytest.raises(StoreUnavailable), any_store.writer(key) as writer:
        writer.write(os.urandom(17 * MIB))
        assert any_store.discard_unfinished(before=LONG_AGO) == 0
        assert any_store.discard_unfinished(before=clock.now() + timedelta(hours=1)) == 1
        assert any_store.discard_unfinished(before=clock.now() + timedelta(hours=1)) == 0
    assert any_store.stat(key) is None


def test_list_names_everything_below_a_prefix(any_store: Store, prefix: str) -> None:
    names = [f"{prefix}parts/{number}-x.jsonl" for number in range(5)] + [f"{prefix}result.jsonl"]
    stored = {name: any_store.put(name, name.encode()) for name in names}
    assert {item.key: item for item in any_store.list(prefix)} == stored
    assert {item.key for item in any_store.list(f"{prefix}parts/3")} == {f"{prefix}parts/3-x.jsonl"}
    assert list(any_store.list(f"jobs/{uuid.uuid4()}/")) == []


def test_delete_takes_more_than_a_batch_and_missing_keys(any_store: Store, prefix: str) -> None:
    names = [f"{prefix}parts/{number}" for number in range(12)]
    for name in names:
        any_store.put(name, b"x")
    any_store.delete([*names, *(f"{prefix}none/{number}" for number in range(1100))])
    assert list(any_store.list(prefix)) == []
    any_store.delete([])


def test_writers_in_many_threads_do_not_meet(any_store: Store, prefix: str) -> None:
    errors = []

    def work(number: int) -> None:
        try:
            for turn in range(10):
                name = f"{prefix}{turn}/{number}"
                any_store.put(name, name.encode())
                assert any_store.read(name) == name.encode()
                any_store.delete([name])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert list(any_store.list(prefix)) == []


def test_presigned_upload_stores_the_file_under_its_key(any_store: Store, key: str) -> None:
    target = any_store.presign_upload(key, max_bytes=100, expires_at=clock.now() + timedelta(hours=1))
    answer = requests.post(target.url, data=target.fields, files={"file": ("rows.jsonl", b"x" * 100)})
    assert answer.status_code == 204
    assert any_store.read(key) == b"x" * 100


def test_presigned_upload_takes_an_empty_file(any_store: Store, key: str) -> None:
    target = any_store.presign_upload(key, max_bytes=100, expires_at=clock.now() + timedelta(hours=1))
    answer = requests.post(target.url, data=target.fields, files={"file": ("rows.jsonl", b"")})
    assert answer.status_code == 204
    assert any_store.read(key) == b""


def test_presigned_upload_that_leads_on_is_taken_as_it_is_signed(any_store: Store, key: str) -> None:
    expires, field = clock.now() + timedelta(hours=1), "success_action_redirect"
    target = any_store.presign_upload(key, max_bytes=100, expires_at=expires, return_to="https://anex.test/jobs?a=1")
    assert target.fields[field] == "https://anex.test/jobs?a=1"
    changed = target.fields | {field: "https://elsewhere.test/"}
    for fields, status in ((changed, {403}), (target.fields, {204, 303})):
        answer = requests.post(target.url, data=fields, files={"file": b"x"}, allow_redirects=False)
        assert answer.status_code in status
    assert any_store.read(key) == b"x"


FORMS: dict[str, tuple[dict[str, str], int]] = {
    "over the cap": ({}, 101),
    "forged": ({"x-amz-signature": "0" * 64}, 1),
    "for another key": ({"key": "uploads/of-somebody-else.jsonl"}, 1),
    "with a field more": ({"x-amz-meta-more": "1"}, 1),
    "of another policy": ({"policy": "e30="}, 1),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_the_policy_does_not_allow_stores_nothing(any_store: Store, key: str, name: str) -> None:
    changes, size = FORMS[name]
    target = any_store.presign_upload(key, max_bytes=100, expires_at=clock.now() + timedelta(hours=1))
    answer = requests.post(target.url, data=target.fields | changes, files={"file": ("rows.jsonl", b"x" * size)})
    assert (answer.status_code, _code(answer)) in REFUSALS
    assert any_store.stat(key) is None
    assert any_store.stat("uploads/of-somebody-else.jsonl") is None


def test_a_form_that_lapsed_stores_nothing(any_store: Store, key: str) -> None:
    target = any_store.presign_upload(key, max_bytes=100, expires_at=clock.now() - timedelta(seconds=5))
    answer = requests.post(target.url, data=target.fields, files={"file": ("rows.jsonl", b"x")})
    assert (answer.status_code, _code(answer)) == (403, "AccessDenied")
    assert any_store.stat(key) is None


def test_presigned_download_is_a_named_attachment(any_store: Store, key: str) -> None:
    any_store.put(key, b"0123456789")
    url = any_store.presign_download(key, expires_in_s=60, filename='my "file".jsonl')
    answer = requests.get(url)
    assert (answer.status_code, answer.content) == (200, b"0123456789")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="my \\"file\\".jsonl"'
    part = requests.get(url, headers={"Range": "bytes=2-4"})
    assert (part.status_code, part.content) == (206, b"234")
    assert part.headers["Content-Range"] == "bytes 2-4/10"


def test_presigned_download_of_another_key_is_refused(any_store: Store, key: str) -> None:
    any_store.put(key, b"mine")
    any_store.put(f"{key}2", b"not mine")
    url = any_store.presign_download(key, expires_in_s=60, filename="f")
    assert requests.get(url.replace(key, f"{key}2")).status_code == 403


def _code(answer: requests.Response) -> str:
    return answer.text.partition("<Code>")[2].partition("</Code>")[0]


def test_a_store_crosses_to_another_process(any_store: Store, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = any_store.put(key, b"one\n")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", strict_s3.ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", strict_s3.SECRET)
    there: Store = pickle.loads(pickle.dumps(any_store))
    assert list(there.stream(key, etag=stored.etag)) == [b"one\n"]
    assert there.stat(key) == stored
