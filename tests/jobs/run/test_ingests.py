"""Copying an input from a URL: what it becomes, what passes, what does not, and who may say so."""

import json
import logging
import tracemalloc
from dataclasses import replace
from datetime import timedelta

import pytest

from anex.core import clock, safe_http
from anex.core.errors import Conflict
from jobs.models import Ingest, Input, Worker
from jobs.run import ingests
from jobs.run.claims import Interrupted
from jobs.run.ingests import IngestClaim
from jobs.selectors import contents
from jobs.selectors.inputs import uri
from jobs.services import inputs, retention
from jobs.storage import store
from jobs.storage.interface import StoreUnavailable
from jobs.storage.local import LocalStore
from jobs.storage.s3 import connect
from tests.factories import grant_credits, make_organization
from tests.jobs.run.driver import HandLease
from tests.jobs.run.ingest_driver import claim, copied, due_now, hooks, ingest, objects_of
from tests.jobs.storage import strict_s3

ROWS = b'{"custom_id":"1"}\n' * 1000


@pytest.fixture(autouse=True)
def source(https_server, https_rules, monkeypatch):
    monkeypatch.setattr(safe_http, "PUBLIC", https_rules)
    https_server.answer("/rows", 200, ROWS)
    https_server.answer("/hook", 204)
    return https_server


@pytest.fixture
def lease(db) -> HandLease:
    return HandLease()


def test_a_copy_becomes_a_ready_input_for_seven_days(acme, source, lease):
    made, _ = ingest(acme, source.url("/rows?signature=x"))
    name = uri(made)
    assert made.status == "pending"
    found = claim(lease)
    assert Input.objects.get(pk=made.pk).status == "copying"
    ingests.run(found)
    made.refresh_from_db()
    assert (made.status, made.size_bytes) == ("ready", len(ROWS))
    assert store().read(made.key, etag=made.etag) == ROWS
    assert timedelta(days=6, hours=23) < made.expires_at - clock.now() <= timedelta(days=7)
    assert source.requests[-1].path == "/rows?signature=x"
    assert uri(made) == name
    assert inputs.for_job(organization_id=acme.pk, region="world", input_s3_uri=name).pk == made.pk
    assert inputs.for_job(organization_id=acme.pk, region="world", input_id=made.pk).pk == made.pk


def test_once_copied_the_store_holds_the_file_alone(acme, source, lease):
    made, _ = ingest(acme, source.url("/rows"), callback_url=source.url("/hook"))
    made = copied(made, lease)
    assert objects_of(made) == {made.key}
    assert Ingest.objects.get(input=made).closed
    assert claim(lease) is None


@pytest.mark.parametrize("body", [b"", b"\0" * 100, b"no rows at all"])
def test_what_is_in_the_file_is_no_matter_of_the_copy(acme, source, lease, body):
    source.answer("/rows", 200, body)
    made = copied(ingest(acme, source.url("/rows"))[0], lease)
    assert (made.status, made.size_bytes) == ("ready", len(body))


@pytest.mark.parametrize(
    ("status", "words"), [(204, "204"), (206, "206"), (302, "Redirects"), (401, "401"), (403, "403"), (404, "404")]
)
def test_an_answer_that_is_no_file_fails_at_once(acme, source, lease, status, words):
    made, _ = ingest(acme, source.url("/rows?signature=hush"))
    source.answer("/rows", status, b"", Location="https://127.0.0.2/")
    made = copied(made, lease)
    assert made.status == "failed"
    assert words in contents.ingest_failure(made)
    assert "hush" not in contents.ingest_failure(made)
    with pytest.raises(Conflict, match="could not be copied"):
        inputs.for_job(organization_id=acme.pk, region="world", input_id=made.pk)


@pytest.mark.parametrize("announced", [True, False])
def test_a_file_over_the_cap_fails_before_it_is_stored(acme, source, lease, monkeypatch, announced):
    made, _ = ingest(acme, source.url("/rows"))
    monkeypatch.setattr(ingests, "MAX_INPUT_BYTES", len(ROWS) - 1)
    if not announced:
        source.handlers["/rows"] = lambda _, peer: peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + ROWS)
    made = copied(made, lease)
    assert made.status == "failed"
    assert "larger than" in contents.ingest_failure(made)
    assert objects_of(made) == {f"inputs/{acme.pk}/{made.pk}/failure.json"}


def test_a_compressed_file_fails_with_the_reason(acme, source, lease):
    made, _ = ingest(acme, source.url("/rows"))
    source.answer("/rows", 200, b"x", Content_Encoding="gzip")
    assert "compressed" in contents.ingest_failure(copied(made, lease))


def test_a_name_that_leads_inside_by_the_time_of_the_copy_fails(acme, source, lease, https_rules, monkeypatch):
    made, _ = ingest(acme, source.url("/rows"))
    monkeypatch.setattr(safe_http, "PUBLIC", replace(https_rules, allows=lambda address: False))
    made = copied(made, lease)
    assert "an address that is not public" in contents.ingest_failure(made)
    assert [request.path for request in source.requests] == ["/rows"]


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 429 X\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        b"",
    ],
)
def test_a_passing_fault_is_waited_out_longer_each_time_and_then_copied(acme, source, lease, raw):
    made, _ = ingest(acme, source.url("/rows"))
    good = source.handlers["/rows"]
    source.handlers["/rows"] = lambda _, peer: peer.sendall(raw)
    waits = []
    for _ in range(3):
        before = clock.now()
        made = copied(made, lease)
        assert made.status == "copying"
        assert claim(lease) is None
        waits.append(round((Ingest.objects.get(input=made).due_at - before).total_seconds()))
        due_now(made)
    assert waits == list(ingests.WAITS_S[:3])
    source.handlers["/rows"] = good
    made = copied(made, lease)
    assert made.status == "ready"
    assert objects_of(made) == {made.key}


def test_a_source_that_sends_too_slowly_is_a_passing_fault(acme, source, lease, monkeypatch):
    monkeypatch.setattr(ingests, "GRACE_S", 0.0)
    monkeypatch.setattr(ingests, "SLOWEST_BYTES_PER_S", 10**15)
    made = copied(ingest(acme, source.url("/rows"))[0], lease)
    assert (made.status, Ingest.objects.get(input=made).attempts) == ("copying", 1)
    assert objects_of(made) == {f"inputs/{acme.pk}/{made.pk}/request.json"}


def test_a_copy_goes_into_a_bucket_in_pieces(acme, source, lease, settings, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", strict_s3.ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", strict_s3.SECRET)
    body = b"x" * (20 * 1024 * 1024 + 7)
    source.answer("/rows", 200, body)
    with strict_s3.serving() as url:
        connect(endpoint_url=url, region=strict_s3.REGION).create_bucket(Bucket="copies")
        settings.ANEX_S3_BUCKET, settings.ANEX_S3_ENDPOINT_URL = "copies", url
        made, _ = ingest(acme, source.url("/rows"), callback_url=source.url("/hook"))
        made = copied(made, lease)
        assert (made.status, made.size_bytes, len(hooks(source))) == ("ready", len(body), 1)
        assert made.etag.endswith("-2")
        assert store().read(made.key, etag=made.etag) == body
        assert objects_of(made) == {made.key}
        assert uri(made) == f"s3://copies/inputs/{acme.pk}/{made.pk}.jsonl"


def test_a_fault_that_does_not_pass_fails_in_the_end(acme, source, lease):
    made, _ = ingest(acme, source.url("/rows"))
    source.answer("/rows", 503)
    for _ in range(len(ingests.WAITS_S) + 1):
        assert made.status in ("pending", "copying")
        due_now(made)
        made = copied(made, lease)
    assert made.status == "failed"
    assert contents.ingest_failure(made) == "The source answered with status 503. It was tried 6 times."


def test_a_copy_under_which_workers_keep_dying_fails_in_the_end(acme, source):
    made, _ = ingest(acme, source.url("/rows"))
    for _ in range(ingests.MOST_ATTEMPTS):
        dead = HandLease()
        assert claim(dead)
        Ingest.objects.update(epoch=None)
    assert copied(made, HandLease()).status == "failed"


def test_a_copy_uses_little_memory(acme, source, lease):
    size, block = 48 * 1024 * 1024, b"x" * 1024 * 1024

    def large(_, peer) -> None:
        peer.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
        for _ in range(size // len(block)):
            peer.sendall(block)

    source.handlers["/rows"] = large
    made, _ = ingest(acme, source.url("/rows"))
    tracemalloc.start()
    made = copied(made, lease)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (made.status, made.size_bytes) == ("ready", size)
    assert peak < 24 * 1024 * 1024


def test_a_claim_that_is_lost_while_copying_changes_nothing(acme, source, lease):
    made, _ = ingest(acme, source.url("/rows"), callback_url=source.url("/hook"))
    first = claim(lease)
    second: list[IngestClaim] = []

    def robbed() -> bool:
        if not second:
            Ingest.objects.update(epoch=None)
            second.append(claim(HandLease()))
        return True

    ingests.run(first, go_on=robbed)
    made.refresh_from_db()
    assert (made.status, hooks(source)) == ("copying", [])
    assert not any(key.endswith(".jsonl") for key in objects_of(made))
    ingests.run(second[0])
    made.refresh_from_db()
    assert (made.status, len(hooks(source))) == ("ready", 1)


def test_a_late_worker_neither_replaces_nor_deletes_what_another_committed(acme, source, lease):
    made, _ = ingest(acme, source.url("/rows"))
    first, done = claim(lease), []

    def overtaken() -> bool:
        if not done:
            Ingest.objects.update(epoch=None)
            done.append(True)
            copied(made, HandLease())
        return True

    ingests.run(first, go_on=overtaken)
    made.refresh_from_db()
    assert made.status == "ready"
    assert store().read(made.key, etag=made.etag) == ROWS
    assert objects_of(made) == {made.key}


def test_a_worker_that_stops_gives_the_copy_back_and_leaves_nothing(acme, source, lease):
    made, _ = ingest(acme, source.url("/rows"))
    found = claim(lease)
    with pytest.raises(Interrupted):
        ingests.run(found, go_on=lambda: False)
    ingests.give_back(found, wait_s=0, blameless=True)
    assert objects_of(made) == {f"inputs/{acme.pk}/{made.pk}/request.json"}
    assert Ingest.objects.get(input=made).attempts == 0
    assert copied(made, lease).status == "ready"


def test_claims_exclude_each_other_and_a_silent_worker_is_followed(acme, source, lease):
    ingest(acme, source.url("/rows"))
    found = claim(lease)
    other = HandLease(seconds=0.1, reclaims=True)
    assert claim(other) is None
    assert claim(lease, found.id) is None
    assert claim(lease).id == found.id
    Worker.objects.filter(pk=lease.epoch).update(heartbeat_at=clock.now() - timedelta(seconds=lease.seconds + 1))
    assert claim(HandLease()) is None
    assert claim(other).id == found.id


def test_one_organization_does_not_take_every_place(acme, source, lease):
    globex = make_organization("Globex")
    grant_credits(globex)
    for _ in range(4):
        ingest(acme, source.url("/rows"))
    last, _ = ingest(globex, source.url("/rows"))
    found = [claim(lease)]
    while found[-1]:
        found.append(claim(lease, *(held.id for held in found)))
    assert len(found[:-1]) == 3
    assert last.pk in {held.input_id for held in found[:-1]}


def test_leftovers_that_could_not_be_tidied_go_with_the_input(acme, source, lease, monkeypatch):
    made, _ = ingest(acme, source.url("/rows"))
    store().put(f"inputs/{acme.pk}/{made.pk}/left-by-a-dead-worker.jsonl", b"x")
    with monkeypatch.context() as away:
        away.setattr(LocalStore, "list", _away)
        made = copied(made, lease)
    assert (made.status, len(objects_of(made))) == ("ready", 3)
    retention.expire_inputs(made.expires_at + retention.MARGIN)
    made.refresh_from_db()
    assert (made.status, objects_of(made)) == ("expired", set())
    assert made.purged_at is not None


def test_the_reason_of_a_failure_is_erased_after_seven_days(acme, source, lease):
    made = copied(ingest(acme, source.url("/gone"))[0], lease)
    assert retention.expire_inputs(made.expires_at) == 0
    assert retention.expire_inputs(made.expires_at + retention.MARGIN) == 1
    made.refresh_from_db()
    assert (made.status, objects_of(made)) == ("failed", set())
    assert contents.ingest_failure(made) == "The copy failed."


@pytest.mark.parametrize("status", ["pending", "copying"])
def test_sweeps_leave_copies_alone_that_are_on_their_way(acme, source, status):
    made, _ = ingest(acme, source.url("/rows"))
    Input.objects.update(status=status)
    assert retention.expire_inputs(clock.now() + timedelta(days=30)) == 0
    made.refresh_from_db()
    assert (made.status, len(objects_of(made))) == (status, 1)


def test_no_url_and_no_secret_is_logged(acme, source, lease, caplog):
    with caplog.at_level(logging.DEBUG):
        made, secret = ingest(acme, source.url("/rows?hush"), callback_url=source.url("/hook?hush"))
        copied(made, lease)
        failed, _ = ingest(acme, source.url("/gone?hush"), callback_url=source.url("/x?hush", host="other.test"))
        copied(failed, lease)
    assert caplog.text
    assert "hush" not in caplog.text
    assert secret not in caplog.text
    assert "hush" not in json.dumps(contents.ingest_failure(failed))


def _away(*args, **kwargs):
    raise StoreUnavailable("away")
