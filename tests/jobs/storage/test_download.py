"""Signed links of the local store: who may follow them, and ranges."""

import os
import uuid
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
import requests

from jobs.storage.local import LocalStore
from tests.jobs.storage.conftest import Web

MIB = 1024 * 1024


@pytest.fixture
def link(web: Web) -> str:
    key = f"jobs/{uuid.uuid4()}/result.jsonl"
    web.store.put(key, b"0123456789")
    return web.store.presign_download(key, expires_in_s=60, filename="answers.jsonl")


def changed(link: str, **changes: str | None) -> str:
    query = dict(parse_qsl(urlsplit(link).query)) | {name.replace("_", "-"): value for name, value in changes.items()}
    return f"{link.partition('?')[0]}?{urlencode({name: value for name, value in query.items() if value is not None})}"


def test_headers_tell_browsers_to_save_and_never_to_sniff_or_keep(link: str) -> None:
    headers = requests.get(link, timeout=30).headers
    assert headers["Content-Disposition"] == 'attachment; filename="answers.jsonl"'
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "private, no-store"


def test_a_file_name_may_be_of_any_script(web: Web) -> None:
    web.store.put("jobs/a/result", b"x")
    link = web.store.presign_download("jobs/a/result", expires_in_s=60, filename="ответы\r\nX: y.jsonl")
    answer = requests.get(link, timeout=30)
    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"].startswith("attachment; filename*=utf-8''%D0%BE")
    assert "X" not in answer.headers


def test_head_answers_the_headers_alone(link: str) -> None:
    answer = requests.head(link, timeout=30)
    assert (answer.status_code, answer.content, answer.headers["Content-Length"]) == (200, b"", "10")


@pytest.mark.parametrize(
    "changes",
    [
        {"X_Amz_Signature": "0" * 64},
        {"X_Amz_Signature": None},
        {"X_Amz_Expires": "604800"},
        {"X_Amz_Date": "20990101T000000Z"},
        {"response_content_disposition": "inline"},
        {"response_content_type": "text/html"},
        {"X_Amz_Credential": "somebody/20260101/world/s3/aws4_request"},
    ],
)
def test_a_link_that_was_changed_is_refused(link: str, changes: dict[str, str | None]) -> None:
    answer = requests.get(changed(link, **changes), timeout=30)
    assert answer.status_code == 403
    assert "0123456789" not in answer.text


@pytest.mark.parametrize("path", ["jobs/../jobs/x", "%2e%2e/%2e%2e/etc/passwd", "jobs//x", "jobs/%00", "é"])
def test_a_link_to_a_path_that_is_no_key_is_refused(web: Web, link: str, path: str) -> None:
    answer = requests.get(f"{web.url}/storage/object/{path}?{urlsplit(link).query}", timeout=30)
    assert answer.status_code == 403


def test_a_link_of_another_region_is_refused(web: Web) -> None:
    web.store.put("jobs/a/result", b"x")
    eu = LocalStore(web.folder, region="eu", public_url=web.url, secret=web.store.signer.secret)
    link = eu.presign_download("jobs/a/result", expires_in_s=60, filename="f")
    assert requests.get(link, timeout=30).status_code == 403


def test_a_lapsed_link_is_refused(web: Web) -> None:
    web.store.put("jobs/a/result", b"x")
    answer = requests.get(web.store.presign_download("jobs/a/result", expires_in_s=0, filename="f"), timeout=30)
    assert (answer.status_code, "expired" in answer.text) == (403, True)


def test_a_link_to_a_deleted_object_answers_404(web: Web) -> None:
    link = web.store.presign_download("jobs/none/result", expires_in_s=60, filename="f")
    answer = requests.get(link, timeout=30)
    assert (answer.status_code, "NoSuchKey" in answer.text) == (404, True)


@pytest.mark.parametrize(
    ("asked", "status", "body"),
    [
        ("bytes=0-0", 206, b"0"),
        ("bytes=7-", 206, b"789"),
        ("bytes=7-99", 206, b"789"),
        ("bytes=-3", 206, b"789"),
        ("bytes=-99", 206, b"0123456789"),
        ("bytes=5-2", 200, b"0123456789"),
        ("bytes=-", 200, b"0123456789"),
        ("bytes=0-1,3-4", 200, b"0123456789"),
        ("rows=0-1", 200, b"0123456789"),
    ],
)
def test_ranges_are_those_of_http(link: str, asked: str, status: int, body: bytes) -> None:
    answer = requests.get(link, headers={"Range": asked}, timeout=30)
    assert (answer.status_code, answer.content) == (status, body)


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=99-100", "bytes=-0"])
def test_a_range_outside_the_object_answers_416(link: str, asked: str) -> None:
    answer = requests.get(link, headers={"Range": asked}, timeout=30)
    assert (answer.status_code, "InvalidRange" in answer.text) == (416, True)


def test_if_range_of_another_version_sends_the_whole_object(link: str) -> None:
    etag = requests.head(link, timeout=30).headers["ETag"]
    same = requests.get(link, headers={"Range": "bytes=2-3", "If-Range": etag}, timeout=30)
    other = requests.get(link, headers={"Range": "bytes=2-3", "If-Range": '"other"'}, timeout=30)
    assert (same.status_code, same.content) == (206, b"23")
    assert (other.status_code, other.content) == (200, b"0123456789")


def test_memory_stays_flat_for_clients_that_do_not_read(web: Web) -> None:
    with web.store.writer("jobs/large/result") as writer:
        for _ in range(100):
            writer.write(os.urandom(MIB))
    link = web.store.presign_download("jobs/large/result", expires_in_s=60, filename="f")
    requests.head(link, timeout=30)
    before = web.rss_bytes
    answers = [requests.get(link, stream=True, timeout=30) for _ in range(5)]
    read = requests.get(link, timeout=60)
    assert len(read.content) == 100 * MIB
    assert web.rss_bytes - before < 50 * MIB
    for answer in answers:
        answer.close()


def test_the_rest_of_the_site_is_django(web: Web) -> None:
    assert requests.get(f"{web.url}/storage/", timeout=30).status_code == 404
    assert requests.get(f"{web.url}/storage/uploads", timeout=30).status_code == 404
