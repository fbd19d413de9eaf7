"""A file is uploaded by real clients through a real server."""

import json
import select
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import openai
import pytest

from accounts.models import Organization
from accounts.services import freezes, organizations
from anex.core import clock
from anex.core.actors import system
from inference.requests.envelope import URLS
from jobs.api.files import intake, upload
from jobs.api.files.pace import Pace
from jobs.models import File, FileUpload, Input
from jobs.run.arrivals import reception
from jobs.run.arrivals.lines import Limits
from jobs.services import uploads
from jobs.storage.interface import StoreUnavailable
from jobs.storage.local import LocalWriter
from tests.factories import make_key, make_organization
from tests.jobs.api.files.conftest import BOUNDARY, END, Host, file_of, on_both_stores, part, row, until

MIB = 1024 * 1024
ROWS = file_of(row(1), row(2))
PURPOSE, FILE = part("purpose", b"batch"), part("file", ROWS, filename="rows.jsonl")


def untouched(host: Host) -> bool:
    """Whether nothing is left of an upload."""
    return not (host.objects or File.objects.exists() or Input.objects.exists() or FileUpload.objects.exists())


def refusal(answer: httpx.Response) -> tuple[int, str]:
    """Status and sentence, after what holds of every refusal."""
    error = answer.json()["error"]
    assert {"message", "type", "code", "param"} <= error.keys()
    assert answer.headers["x-request-id"]
    return answer.status_code, error["message"]


@on_both_stores
def test_sdk_uploads_lists_reads_and_downloads_a_file(host: Host) -> None:
    content = file_of(*(row(number, pad="x" * 20_000) for number in range(1000)))
    made = host.openai.files.create(file=("Zeilen ☃.jsonl", content), purpose="batch")
    assert (made.object, made.bytes, made.filename, made.purpose) == ("file", len(content), "Zeilen ☃.jsonl", "batch")
    assert made.status == "processed"
    assert made.expires_at - made.created_at == 7 * 24 * 3600
    assert host.openai.files.retrieve(made.id) == made
    assert [file.id for file in host.openai.files.list()] == [made.id]
    assert host.openai.files.content(made.id).read() == content
    file = File.objects.select_related("input").get()
    assert (file.input.status, file.model_id, FileUpload.objects.count()) == (Input.State.READY, "scripted", 0)


def test_chunked_body_is_taken_with_the_purpose_before_or_after_the_file(host: Host) -> None:
    for order in ([PURPOSE, FILE], [FILE, PURPOSE], [part("x", b"1"), FILE, part("y", b"2"), PURPOSE]):
        body = b"".join([*order, END])
        answer = host.post(body[place : place + 7] for place in range(0, len(body), 7))
        assert answer.status_code == 200, answer.text
        assert answer.headers["x-request-id"]
        assert host.http.get(f"/files/{answer.json()['id']}/content").content == ROWS


def test_name_is_kept_without_folders_and_control_characters(host: Host) -> None:
    for given, shown in (
        ("a/b\\c.jsonl", "c.jsonl"),
        ("", None),
        ("../..", ".."),
        ("x" * 300, "x" * 255),
        ("a\x07b", "ab"),
    ):
        made = host.post(PURPOSE + part("file", ROWS, filename=given) + END).json()
        assert made["filename"] == (f"{made['id']}.jsonl" if shown is None else shown)


HOSTILE = [
    (FILE + END, "purpose is missing"),
    (part("purpose", b"fine-tune") + FILE + END, "purpose must be batch"),
    (FILE + part("purpose", b"\xff") + END, "not a well-formed"),
    (PURPOSE + END, "file is missing"),
    (PURPOSE + FILE, "ends before its closing boundary"),
    (PURPOSE + FILE + FILE + END, "exactly one file"),
    (PURPOSE + PURPOSE + FILE + END, "given twice"),
    (PURPOSE + part("file", b"", filename="f") + END, "The file is empty"),
    (PURPOSE + part("file", b"\n\n", filename="f") + END, "The file is empty"),
    (PURPOSE + part("file", b"{}\n", filename="f") + END, "Line 1: url is missing."),
    (PURPOSE + part("file", ROWS + b"{", filename="f") + END, "Line 3: the line is not valid JSON"),
    (PURPOSE + part("file", ROWS + ROWS, filename="f") + END, "Line 3: custom_id was already used on line 1."),
    (part("x" * 30_000, b"") + FILE + END, "form"),
    (part("x", b"1" * 30_000) + FILE + END, "fields of the form are larger"),
    (b"".join(part(f"x{n}", b"") for n in range(9000)) + FILE + END, "fields of the form are larger"),
    (b"--" + BOUNDARY.encode() + b"\r\nA: " + b"b" * 100_000, "not a well-formed"),
    (b"--" + BOUNDARY.encode() + b"\r\n" + b"A: b\r\n" * 1000, "not a well-formed"),
    (b"--" + BOUNDARY.encode() + b"\r\n\r\nnameless\r\n" + END, "not a well-formed"),
    (b"nonsense" * 1000, "not a well-formed"),
    (b"", "ends before its closing boundary"),
]
NO_FORMS = ("application/json", "multipart/form-data", f"multipart/form-data; boundary={'x' * 300}", "")


def test_hostile_or_incomplete_form_is_refused_and_leaves_nothing(host: Host) -> None:
    for body, sentence in HOSTILE:
        status, message = refusal(host.post(body))
        assert (status, sentence in message) == (400, True), (body[:100], message)
    for kind in NO_FORMS:
        assert refusal(host.post(b"{}", **{"Content-Type": kind}))[0] == 400
    assert refusal(host.post(PURPOSE + FILE + END, **{"Content-Encoding": "gzip"}))[0] == 415
    assert untouched(host)


def test_model_that_is_not_offered_on_the_url_is_refused(host: Host) -> None:
    for line, sentence in (
        (row(3, body={"model": "nobody"}), "Line 1: unknown model 'nobody': it is not offered for batches."),
        (row(3, url="/v1/embeddings"), f"Line 1: url must be {' or '.join(URLS['chat'])} for the model 'scripted'."),
    ):
        with pytest.raises(openai.BadRequestError) as caught:
            host.openai.files.create(file=file_of(line), purpose="batch")
        assert (caught.value.body["message"], caught.value.body["line"]) == (sentence, 1)
    assert untouched(host)


@on_both_stores
def test_bad_line_is_told_while_the_client_still_sends(host: Host) -> None:
    content = file_of(row(1), b"{", *(row(number, pad="x" * MIB) for number in range(2, 40)))
    with pytest.raises(openai.BadRequestError) as caught:
        host.openai.files.create(file=content, purpose="batch")
    assert caught.value.body["message"].startswith("Line 2: the line is not valid JSON")
    assert (caught.value.body["line"], caught.value.code) == (2, "invalid_request")
    until(lambda: untouched(host))


def test_line_too_long_for_its_media_is_413_that_says_how_large_media_may_be(host: Host, monkeypatch) -> None:
    monkeypatch.setattr(reception, "LIMITS", Limits(MIB, 100))
    with pytest.raises(openai.APIStatusError) as caught:
        host.openai.files.create(file=file_of(row(1), row(2, pad="x" * MIB)), purpose="batch")
    assert (caught.value.status_code, caught.value.code) == (413, "too_large")
    assert "Line 2: the line is longer than 1 MiB, so media in it can be up to about 1 MiB" in str(caught.value)
    assert untouched(host)


@pytest.mark.parametrize("chunked", [True, False])
def test_file_of_the_largest_size_is_taken_and_one_byte_more_is_413(host: Host, monkeypatch, chunked: bool) -> None:
    monkeypatch.setattr(upload, "MAX_INPUT_BYTES", len(ROWS))
    monkeypatch.setattr(upload, "_MOST_BODY", len(ROWS) + 1000)
    whole = PURPOSE + FILE + END
    for body, status in ((whole, 200), (whole.replace(ROWS, ROWS + b"\n"), 413), (whole + b"x" * 2000, 413)):
        answer = host.post(iter([body]) if chunked else body)
        assert answer.status_code == status, answer.text
    assert File.objects.count() == 1
    until(lambda: len(host.objects) == 2)


class TestWho:
    def test_needs_a_key_that_works_has_the_scope_and_may_use_the_model(self, host: Host, owner: Organization) -> None:
        keys = {
            "nonsense": 401,
            make_key(owner, scopes=frozenset({"batch:read"})).secret: 403,
            make_key(owner, models=frozenset({"other"})).secret: 403,
        }
        for secret, status in keys.items():
            host.http.headers["Authorization"] = f"Bearer {secret}"
            assert refusal(host.upload(ROWS))[0] == status
        del host.http.headers["Authorization"]
        answer = host.upload(ROWS)
        assert (refusal(answer)[0], answer.headers["www-authenticate"]) == (401, "Bearer")
        assert untouched(host)

    def test_organization_without_credits_or_suspended_or_frozen_is_refused(self, host: Host, owner) -> None:
        poor = make_key(make_organization("Globex"))
        host.http.headers["Authorization"] = poor.header
        answer = host.upload(ROWS)
        assert refusal(answer)[0] == 402
        assert answer.headers["x-should-retry"] == "false"
        host.http.headers["Authorization"] = host.key.header
        freezes.switch(surface="batch", frozen=True, actor=system("tests"), reason="a migration")
        assert refusal(host.upload(ROWS))[0] == 503
        freezes.switch(surface="batch", frozen=False, actor=system("tests"), reason="done")
        Organization.objects.filter(pk=owner.pk).update(suspended_at=clock.now())
        answer = host.upload(ROWS)
        assert (refusal(answer)[0], answer.json()["error"]["code"]) == (403, "org_suspended")
        assert untouched(host)

    def test_organization_of_the_other_region_is_sent_there(self, host: Host, owner, settings) -> None:
        settings.ANEX_OTHER_REGION_URL = "https://eu.anex.test"
        organizations.route_to_eu(organization_id=owner.pk, enabled=True, actor=system("tests"), reason="asked")
        answer = host.upload(ROWS)
        assert (refusal(answer)[0], answer.json()["error"]["code"]) == (421, "misdirected")
        assert answer.json()["error"]["api"] == "https://eu.anex.test"
        assert untouched(host)


class Sender:
    """An upload over a socket, which goes on when it is told to."""

    def __init__(self, host: Host, body: bytes = PURPOSE + FILE[:-20]) -> None:
        self.socket = socket.create_connection(("127.0.0.1", host.port), timeout=30)
        head = (
            f"POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: {host.key.header}\r\nContent-Length: 100000000\r\n"
            f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n\r\n"
        )
        self.socket.sendall(head.encode() + body)

    def status(self) -> int:
        answer = self.socket.makefile("rb").readline()
        self.socket.close()
        return int(answer.split()[1])


class TestPlaces:
    def test_third_upload_waits_until_one_of_two_has_gone(self, host: Host) -> None:
        senders = [Sender(host), Sender(host)]
        until(lambda: FileUpload.objects.count() == 2)
        answer = host.upload(ROWS)
        assert refusal(answer)[0] == 429
        assert (answer.headers["retry-after"], answer.json()["error"]["code"]) == ("10", "too_many_uploads")
        senders[0].socket.close()
        until(lambda: FileUpload.objects.count() == 1)
        assert host.upload(ROWS).status_code == 200
        senders[1].socket.close()
        until(lambda: not FileUpload.objects.exists())
        assert len(host.objects) == 2

    def test_many_at_once_are_never_more_than_two(self, host: Host) -> None:
        answers: list[int] = []
        threads = [threading.Thread(target=lambda: answers.append(host.upload(ROWS).status_code)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(answers) <= {200, 429}
        assert File.objects.count() == answers.count(200) >= 2
        assert not FileUpload.objects.exists()

    def test_process_has_a_bound_of_its_own(self, host: Host, monkeypatch) -> None:
        monkeypatch.setattr(upload, "MOST_AT_ONCE", 0)
        answer = host.upload(ROWS)
        assert refusal(answer)[0] == 429
        assert answer.headers["retry-after"]
        assert untouched(host)

    def test_place_that_was_given_up_meanwhile_ends_the_upload(self, host: Host, monkeypatch) -> None:
        monkeypatch.setattr(uploads, "LEASE", timedelta(seconds=0.1))
        sender = Sender(host)
        until(FileUpload.objects.exists)
        FileUpload.objects.all().delete()
        while not select.select([sender.socket], [], [], 0.02)[0]:
            sender.socket.sendall(b"x")
        assert sender.status() == 503
        assert untouched(host)


class TestPace:
    def test_stalled_or_endless_upload_is_408(self, host: Host, monkeypatch) -> None:
        monkeypatch.setattr("jobs.api.files.exchange.LINGER_S", 0.05)
        for pace, sentence in ((Pace(silence_s=0.05), b"sent nothing for"), (Pace(limit_s=0.05), b"took longer than")):
            monkeypatch.setattr(upload, "PACE", pace)
            sender = Sender(host)
            with sender.socket, sender.socket.makefile("rb") as answered:
                answer = answered.read()
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert b"connection: close" in answer
            assert sentence in answer
        until(lambda: untouched(host))

    def test_slow_upload_is_408_after_its_first_minute(self, host: Host, monkeypatch) -> None:
        monkeypatch.setattr("jobs.api.files.exchange.LINGER_S", 0.05)
        monkeypatch.setattr(upload, "PACE", Pace(grace_s=0.05))

        def pieces() -> Iterator[bytes]:
            yield PURPOSE + FILE
            while True:
                threading.Event().wait(0.01)
                yield b"\r\n"

        status, sentence = refusal(host.post(pieces()))
        assert status == 408
        assert "slower than 256 KiB/s" in sentence
        until(lambda: untouched(host))


class TestFailures:
    @on_both_stores
    def test_client_that_leaves_leaves_nothing(self, host: Host) -> None:
        sender = Sender(host, PURPOSE + part("file", file_of(*(row(n, pad="x" * MIB) for n in range(20))))[:-10])
        until(FileUpload.objects.exists)
        sender.socket.close()
        until(lambda: untouched(host))
        assert host.store.discard_unfinished(before=clock.now() + timedelta(days=1)) == 0

    def test_store_that_fails_is_503(self, host: Host, monkeypatch) -> None:
        def full(*_: Any) -> None:
            raise StoreUnavailable("The store cannot be used: No space left on device.")

        monkeypatch.setattr(LocalWriter, "write", full)
        answer = host.upload(ROWS)
        assert refusal(answer)[0] == 503
        assert answer.headers["retry-after"]
        assert untouched(host)

    def test_checker_that_is_killed_is_503(self, host: Host, monkeypatch) -> None:
        taken = intake.Reception.take

        def take(self: Any, piece: bytes) -> None:
            taken(self, piece)
            self.checker._child.kill()

        monkeypatch.setattr(intake.Reception, "take", take)
        assert refusal(host.upload(ROWS))[0] == 503
        assert untouched(host)


def test_methods_that_are_not_taken(host: Host) -> None:
    for method, path in (("PUT", "/files"), ("POST", "/files/file-1/content"), ("PATCH", "/files/file-1")):
        answer = host.http.request(method, path)
        assert answer.status_code == 405
        assert json.loads(answer.text)["error"]["code"] == "method_not_allowed"
