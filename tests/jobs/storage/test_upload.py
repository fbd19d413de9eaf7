"""Form uploads to the local store through a real web server: what is signed is enforced, nothing else is stored."""

import base64
import http.client
import json
import os
import socket
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from anex.core import clock
from jobs.storage.interface import UploadTarget
from jobs.storage.local import LocalStore
from tests.jobs.storage.conftest import Web

MIB = 1024 * 1024
BOUNDARY = "a-boundary-of-the-tests"


@pytest.fixture
def key() -> str:
    return f"uploads/{uuid.uuid4()}/{uuid.uuid4()}.jsonl"


@pytest.fixture
def target(web: Web, key: str) -> UploadTarget:
    return web.store.presign_upload(key, max_bytes=1000, expires_at=clock.now() + timedelta(hours=1))


@pytest.fixture(autouse=True)
def _clean(web: Web) -> Iterator[None]:
    for stored in list(web.store.list("")):
        web.store.delete([stored.key])
    assert web.files() == []
    yield


def send(target: UploadTarget, body: bytes = b"x" * 500, **changes: str | None) -> requests.Response:
    """The upload with some fields changed or, with None, left out; `_` in a name stands for `-`."""
    fields: dict[str, Any] = target.fields | {name.replace("_", "-"): value for name, value in changes.items()}
    fields = {name: value for name, value in fields.items() if value is not None}
    return requests.post(target.url, data=fields, files={"file": ("rows.jsonl", body)}, timeout=30)


def code(answer: requests.Response) -> str:
    return answer.text.partition("<Code>")[2].partition("</Code>")[0]


def form(target: UploadTarget, pieces: Iterable[bytes], *, end: bytes = b"") -> Iterator[bytes]:
    """The bytes of a form whose file comes in pieces."""
    for name, value in target.fields.items():
        yield f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
    yield f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'.encode()
    yield from pieces
    yield f"\r\n--{BOUNDARY}--\r\n".encode() + end


def post(target: UploadTarget, body: Iterable[bytes], **headers: str) -> tuple[int, bytes]:
    """A POST by the standard library; chunked unless a Content-Length is given."""
    connection = http.client.HTTPConnection(urlsplit(target.url).netloc, timeout=60)
    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"} | headers
    with closing(connection):
        connection.request("POST", "/storage/upload", body, headers, encode_chunked="Content-Length" not in headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_the_answer_names_the_stored_version(web: Web, target: UploadTarget, key: str) -> None:
    answer = send(target)
    stored = web.store.stat(key)
    assert stored is not None
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["ETag"] == f'"{stored.etag}"'


def test_the_cap_itself_is_allowed_and_one_byte_more_is_not(web: Web, target: UploadTarget, key: str) -> None:
    assert send(target, b"x" * 1000).status_code == 204
    web.store.delete([key])
    answer = send(target, b"x" * 1001)
    assert (answer.status_code, code(answer)) == (400, "EntityTooLarge")
    assert web.files() == []


def test_a_client_that_sends_far_too_much_still_hears_why(web: Web, target: UploadTarget) -> None:
    answer = send(target, b"x" * 20 * MIB)
    assert (answer.status_code, code(answer)) == (400, "EntityTooLarge")
    assert web.files() == []


@pytest.mark.parametrize(
    ("changes", "status", "expected"),
    [
        ({"x_amz_signature": "0" * 64}, 403, "SignatureDoesNotMatch"),
        ({"x_amz_signature": "é"}, 403, "SignatureDoesNotMatch"),
        ({"key": "uploads/another/file.jsonl"}, 403, "AccessDenied"),
        ({"key": "../../../etc/passwd"}, 403, "AccessDenied"),
        ({"x-amz-meta-more": "1"}, 403, "AccessDenied"),
        ({"bucket": "anex-eu"}, 403, "AccessDenied"),
        ({"policy": None}, 403, "AccessDenied"),
        ({"key": None}, 400, "InvalidArgument"),
        ({"x_amz_signature": None}, 400, "InvalidArgument"),
        ({"x_amz_credential": None}, 400, "InvalidArgument"),
        ({"x_amz_credential": "somebody/20260101/world/s3/aws4_request"}, 403, "InvalidAccessKeyId"),
        ({"x_amz_credential": "anex/20260101/eu/s3/aws4_request"}, 403, "SignatureDoesNotMatch"),
        ({"x_amz_algorithm": "AWS4-HMAC-MD5"}, 400, "InvalidArgument"),
        ({"x_amz_date": "20200101T000000Z"}, 403, "SignatureDoesNotMatch"),
        ({"filler": "x" * 30_000}, 400, "MaxPostPreDataLengthExceeded"),
    ],
)
def test_a_form_that_is_not_the_signed_one_stores_nothing(
    web: Web, target: UploadTarget, changes: dict[str, str | None], status: int, expected: str
) -> None:
    answer = send(target, **changes)
    assert (answer.status_code, code(answer)) == (status, expected)
    assert web.files() == []


def test_a_policy_with_a_higher_cap_is_not_the_signed_one(web: Web, target: UploadTarget) -> None:
    policy = json.loads(base64.b64decode(target.fields["policy"]))
    policy["conditions"][1][2] = 10_000
    answer = send(target, b"x" * 5000, policy=base64.b64encode(json.dumps(policy).encode()).decode())
    assert (answer.status_code, code(answer)) == (403, "SignatureDoesNotMatch")
    assert web.files() == []


def test_a_form_signed_with_another_secret_is_refused(web: Web, key: str) -> None:
    other = LocalStore(web.folder, region="world", public_url=web.url, secret="another")
    answer = send(other.presign_upload(key, max_bytes=1000, expires_at=clock.now() + timedelta(hours=1)))
    assert (answer.status_code, code(answer)) == (403, "SignatureDoesNotMatch")
    assert web.files() == []


def test_a_lapsed_window_is_refused(web: Web, key: str) -> None:
    answer = send(web.store.presign_upload(key, max_bytes=1000, expires_at=clock.now() - timedelta(seconds=1)))
    assert (answer.status_code, code(answer)) == (403, "AccessDenied")
    assert "Policy expired" in answer.text
    assert web.files() == []


def test_a_form_that_leads_on_sends_the_browser_there_and_nowhere_else(web: Web, key: str) -> None:
    expires = clock.now() + timedelta(hours=1)
    target = web.store.presign_upload(key, max_bytes=1000, expires_at=expires, return_to="https://anex.test/jobs?a=1")
    answer = requests.post(target.url, data=target.fields, files={"file": b"x"}, allow_redirects=False, timeout=30)
    assert (answer.status_code, answer.headers["location"].partition("&")[0]) == (303, "https://anex.test/jobs?a=1")
    assert web.store.read(key) == b"x"
    assert send(target, success_action_redirect="https://elsewhere.test/").status_code == 403


def test_a_field_given_twice_is_refused(web: Web, target: UploadTarget) -> None:
    fields = [*target.fields.items(), ("key", "uploads/other")]
    answer = requests.post(target.url, data=fields, files={"file": ("f", b"x")}, timeout=30)
    assert (answer.status_code, code(answer)) == (400, "InvalidArgument")
    assert web.files() == []


def test_endless_empty_fields_are_refused(web: Web, target: UploadTarget) -> None:
    fields = target.fields | {f"field-{number}": "" for number in range(5000)}
    status, body = post(target, form(UploadTarget(target.url, fields), [b"x"]))
    assert (status, b"MaxPostPreDataLengthExceeded" in body) == (400, True)


def test_fields_after_the_file_come_too_late(web: Web, target: UploadTarget) -> None:
    parts = [("file", ("f", b"x")), *((name, (None, value)) for name, value in target.fields.items())]
    answer = requests.post(target.url, files=parts, timeout=30)
    assert (answer.status_code, code(answer)) == (400, "InvalidArgument")
    assert web.files() == []


def test_what_follows_the_file_is_ignored(web: Web, target: UploadTarget, key: str) -> None:
    parts = [
        *((name, (None, value)) for name, value in target.fields.items()),
        ("file", ("f", b"first")),
        ("x-late", (None, "field")),
        ("file", ("g", b"second")),
    ]
    assert requests.post(target.url, files=parts, timeout=30).status_code == 204
    assert web.store.read(key) == b"first"


def test_a_form_without_a_file_is_refused(web: Web, target: UploadTarget) -> None:
    parts = [(name, (None, value)) for name, value in target.fields.items()]
    answer = requests.post(target.url, files=parts, timeout=30)
    assert (answer.status_code, code(answer)) == (400, "InvalidArgument")
    assert web.files() == []


@pytest.mark.parametrize(
    ("content_type", "body", "status", "expected"),
    [
        ("application/json", b"{}", 412, b"PreconditionFailed"),
        ("multipart/form-data", b"", 412, b"PreconditionFailed"),
        ("multipart/form-data; boundary=" + "b" * 1000, b"x", 400, b"MalformedPOSTRequest"),
        ("multipart/form-data; boundary=b", b"no boundary here", 400, b"MalformedPOSTRequest"),
        ("multipart/form-data; boundary=b", b"", 400, b"MalformedPOSTRequest"),
        ("multipart/form-data; boundary=b", b"--b\r\nX: y\r\n\r\nvalue\r\n--b--\r\n", 400, b"MalformedPOSTRequest"),
        ("multipart/form-data; boundary=b", b"--b\r\n" + b"h" * 9999, 400, b"MalformedPOSTRequest"),
    ],
)
def test_a_body_that_is_no_form_is_refused(
    web: Web, target: UploadTarget, content_type: str, body: bytes, status: int, expected: bytes
) -> None:
    answer = post(target, body, **{"Content-Type": content_type, "Content-Length": str(len(body))})
    assert answer[0] == status
    assert expected in answer[1]
    assert web.files() == []


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
def test_only_post_uploads(web: Web, method: str) -> None:
    assert requests.request(method, f"{web.url}/storage/upload", timeout=30).status_code == 405


def test_a_chunked_body_is_taken_and_capped(web: Web, target: UploadTarget, key: str) -> None:
    assert post(target, form(target, [b"x" * 400, b"y" * 600]))[0] == 204
    assert web.store.read(key) == b"x" * 400 + b"y" * 600
    web.store.delete([key])
    status, body = post(target, form(target, [b"x" * 400, b"y" * 601]))
    assert (status, b"EntityTooLarge" in body) == (400, True)
    assert web.files() == []


def test_a_body_in_single_bytes_is_the_same_file(web: Web, target: UploadTarget, key: str) -> None:
    content = b"\r\n--a-boundary-of-the-test\r\n--\r" * 20
    whole = b"".join(form(target, [content], end=b"an epilogue"))
    assert post(target, (whole[i : i + 1] for i in range(len(whole))))[0] == 204
    assert web.store.read(key) == content


def test_a_form_without_its_last_boundary_is_refused(web: Web, target: UploadTarget) -> None:
    pieces = list(form(target, [b"x" * 100]))[:-1]
    status, body = post(target, pieces)
    assert (status, b"MalformedPOSTRequest" in body) == (400, True)
    assert web.files() == []


def test_an_upload_cut_in_the_middle_leaves_nothing(web: Web, key: str) -> None:
    target = web.store.presign_upload(key, max_bytes=64 * MIB, expires_at=clock.now() + timedelta(hours=1))
    whole = b"".join(form(target, [os.urandom(8 * MIB)]))
    head = (
        f"POST /storage/upload HTTP/1.1\r\nHost: x\r\nContent-Length: {len(whole)}\r\n"
        f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n\r\n"
    ).encode()
    host, port = urlsplit(web.url).netloc.split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head + whole[: 6 * MIB])
        wait_for(lambda: web.files() != [])
    wait_for(lambda: web.files() == [])


def test_a_chunked_upload_cut_in_the_middle_keeps_the_older_version(web: Web, key: str) -> None:
    target = web.store.presign_upload(key, max_bytes=64 * MIB, expires_at=clock.now() + timedelta(hours=1))
    assert send(target, b"older").status_code == 204

    def file() -> Iterator[bytes]:
        yield b"x" * 2 * MIB
        wait_for(lambda: len(web.files()) == 2)
        raise OSError("the client stops here")

    with pytest.raises(OSError, match="stops here"):
        post(target, form(target, file()))
    wait_for(lambda: len(web.files()) == 1)
    assert web.store.read(key) == b"older"


def test_memory_stays_flat_while_200_mb_come_in(web: Web, key: str) -> None:
    size = 200 * MIB
    target = web.store.presign_upload(key, max_bytes=size, expires_at=clock.now() + timedelta(hours=1))
    assert send(target, b"warm up").status_code == 204
    before, highest = web.rss_bytes, 0
    block = os.urandom(MIB)

    def file() -> Iterator[bytes]:
        nonlocal highest
        for _ in range(200):
            highest = max(highest, web.rss_bytes)
            yield block

    assert post(target, form(target, file()))[0] == 204
    stored = web.store.stat(key)
    assert stored is not None
    assert stored.size == size
    assert max(highest, web.rss_bytes) - before < 50 * MIB


def wait_for(condition: Any) -> None:
    """Until the server process has done its part."""
    deadline = clock.monotonic() + 30
    while not condition():
        assert clock.monotonic() < deadline, "the server did not get there"
        time.sleep(0.005)
