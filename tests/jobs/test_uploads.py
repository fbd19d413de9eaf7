"""Places of uploads: two per organization, free within a minute of a kill, and nothing left of what had one."""

import socket
from datetime import timedelta

import pytest

from anex.core import clock
from anex.core.actors import system
from anex.core.errors import PaymentRequired, TooManyRequests, Unavailable
from inference.backends import registry
from inference.requests.batch_lines import Target
from jobs.models import File, FileUpload, Input
from jobs.services import uploads
from jobs.storage import keys, store
from jobs.storage.interface import StoreUnavailable
from jobs.storage.local import LocalStore
from tests.factories import make_key
from tests.jobs.api.files.conftest import BOUNDARY, CHAT, file_of, objects, on_both_stores, part, row, until
from tests.jobs.storage.conftest import s3_store, s3_url
from tests.web import Web

pytestmark = pytest.mark.django_db
__all__ = ["objects", "s3_store", "s3_url"]
NAME, TARGET = "rows.jsonl", Target("/v1/chat/completions", "scripted")


def stored(upload: FileUpload):
    return store().put(keys.uploaded_file(upload.organization_id, upload.pk), b"{}\n")


def complete(upload: FileUpload) -> File:
    return uploads.complete(upload, name=NAME, target=TARGET, stored=stored(upload), actor=system("tests"))


def test_place_becomes_a_file_of_the_same_id(acme) -> None:
    upload = uploads.begin(organization_id=acme.pk)
    file = complete(upload)
    assert (file.pk, file.input.pk, FileUpload.objects.count()) == (upload.pk, upload.pk, 0)
    uploads.give_up(upload)
    assert len(list(store().list(""))) == 2


def test_two_places_of_an_organization_are_all_there_are(acme, globex) -> None:
    first, _ = (uploads.begin(organization_id=acme.pk) for _ in range(2))
    with pytest.raises(TooManyRequests) as caught:
        uploads.begin(organization_id=acme.pk)
    assert caught.value.retry_after
    uploads.give_up(first)
    uploads.begin(organization_id=acme.pk)
    with pytest.raises(PaymentRequired):
        uploads.begin(organization_id=globex.pk)


def test_place_is_free_though_the_store_is_away_and_the_sweep_clears_it(acme, monkeypatch) -> None:
    given_up, _ = (uploads.begin(organization_id=acme.pk) for _ in range(2))
    stored(given_up)

    def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("The store cannot be reached.")

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "delete", away)
        with pytest.raises(StoreUnavailable):
            uploads.give_up(given_up)
        uploads.begin(organization_id=acme.pk)
    assert uploads.sweep(clock.now()) == 1
    assert list(store().list("")) == []


@on_both_stores
def test_place_of_a_dead_process_lapses_and_is_swept_with_what_it_left(acme, objects, monkeypatch) -> None:
    lost, kept = (uploads.begin(organization_id=acme.pk) for _ in range(2))
    with pytest.raises(StoreUnavailable), store().writer(keys.uploaded_file(acme.pk, lost.pk)) as writer:
        writer.write(b"x" * 17 * 1024 * 1024)
        stored(lost)
        other = store().put(keys.uploaded_file(acme.pk, kept.pk), b"{}\n")
        later = clock.now() + timedelta(seconds=60)
        monkeypatch.setattr(clock, "now", lambda: later)
        assert uploads.renew(kept.pk)
        assert uploads.sweep(later) == 1
        assert [object.key for object in store().list("")] == [other.key]
    assert not uploads.renew(lost.pk)
    with pytest.raises(Unavailable):
        complete(lost)
    assert not Input.objects.exists()
    uploads.begin(organization_id=acme.pk)


def test_lapsed_place_counts_no_more_before_any_sweep(acme, monkeypatch) -> None:
    for _ in range(2):
        uploads.begin(organization_id=acme.pk)
    later = clock.now() + timedelta(seconds=60)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert uploads.begin(organization_id=acme.pk)


@pytest.mark.django_db(transaction=True)
def test_killed_web_process_leaves_a_place_that_lapses_and_nothing_after_the_sweep(acme, tmp_path, monkeypatch) -> None:
    registry.configure(model_id=CHAT, base_url="http://127.0.0.1:9/v1", served_name=CHAT, actor=system("tests"))
    monkeypatch.setenv("ANEX_STORAGE_DIR", str(store()._objects.parents[1]))
    web, key = Web(tmp_path / "web.log"), make_key(acme)
    try:
        web.wait()
        body = part("purpose", b"batch") + part("file", file_of(*(row(n, pad="x" * 100_000) for n in range(40))))
        head = (
            f"POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: {key.header}\r\nContent-Length: 99999999\r\n"
            f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", web.port)) as connection:
            connection.sendall(head.encode() + body)
            until(lambda: any(path.stat().st_size for path in store()._unfinished.glob("*")), seconds=60)
            web.stop()
    finally:
        web.stop()
    soon = clock.now() + timedelta(seconds=60)
    assert FileUpload.objects.get().lapses_at < soon
    assert uploads.sweep(soon) == 1
    assert [path for path in store()._objects.parent.rglob("*") if path.is_file()] == []
    assert not FileUpload.objects.exists()
