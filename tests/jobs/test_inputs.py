"""Settling: what a landed upload becomes, and which input a job may name."""

import uuid
from datetime import timedelta
from threading import Thread

import pytest
from django.db import connection

from anex.core import clock
from anex.core.actors import system
from anex.core.errors import Conflict, InvalidRequest, NotFound, Unprocessable
from jobs.models import Input
from jobs.selectors.inputs import uri
from jobs.services import inputs
from jobs.storage import store
from jobs.storage.interface import ObjectChanged
from tests.factories import make_input, make_organization

ACTOR = system("tests")


@pytest.fixture
def source(acme) -> Input:
    return inputs.create_upload(organization_id=acme.pk, format="jsonl", actor=ACTOR)[0]


def test_settling_pins_the_version_that_landed(source):
    stored = store().put(source.key, b"rows\n")
    settled = inputs.settle(source)
    assert (settled.status, settled.etag, settled.size_bytes) == ("ready", stored.etag, 5)


def test_settling_without_a_file_changes_nothing(source):
    assert inputs.settle(source).status == "awaiting_upload"


def test_an_empty_file_is_a_ready_input_of_no_bytes(source):
    store().put(source.key, b"")
    settled = inputs.settle(source)
    assert (settled.status, settled.size_bytes) == ("ready", 0)


def test_a_file_replaced_after_the_pin_is_never_read(source):
    store().put(source.key, b"the rows that were priced")
    pinned = inputs.settle(source)
    store().put(source.key, b"other rows")
    assert inputs.settle(pinned).etag == pinned.etag
    with pytest.raises(ObjectChanged):
        store().read(pinned.key, etag=pinned.etag)


def test_a_settle_that_came_second_agrees_with_the_first(source):
    store().put(source.key, b"first")
    stale = Input.objects.get(pk=source.pk)
    first = inputs.settle(source)
    store().put(source.key, b"second")
    second = inputs.settle(stale)
    assert (second.etag, second.size_bytes, second.expires_at) == (first.etag, first.size_bytes, first.expires_at)


@pytest.mark.django_db(transaction=True)
def test_settles_at_once_pin_one_version(source):
    store().put(source.key, b"rows\n")
    seen = []

    def work() -> None:
        try:
            for _ in range(5):
                settled = inputs.settle(Input.objects.get(pk=source.pk))
                store().put(source.key, uuid.uuid4().bytes)
                seen.append((settled.etag, settled.expires_at))
        finally:
            connection.close()

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 20
    assert len(set(seen)) == 1


def test_a_job_settles_the_upload_it_names(source, acme):
    store().put(source.key, b"rows\n")
    assert inputs.for_job(organization_id=acme.pk, region="world", input_id=source.pk).status == "ready"


def test_a_job_may_name_the_file_by_its_uri(source, acme):
    store().put(source.key, b"rows\n")
    assert inputs.for_job(organization_id=acme.pk, region="world", input_s3_uri=uri(source)).pk == source.pk


def test_an_input_that_is_not_ready_is_a_conflict(source, acme):
    with pytest.raises(Conflict, match="not ready"):
        inputs.for_job(organization_id=acme.pk, region="world", input_id=source.pk)


def test_an_expired_input_is_a_conflict(acme):
    source = make_input(acme, expires_at=clock.now() - timedelta(seconds=1))
    with pytest.raises(Conflict, match="expired"):
        inputs.for_job(organization_id=acme.pk, region="world", input_id=source.pk)


@pytest.mark.parametrize(
    "form",
    [
        "s3://another/{key}",
        "https://anex-world/{key}",
        "{key}",
        "s3://anex-world/",
        "",
        "s3://anex-world/{key}\0",
        "s3://\ud800/a",
    ],
)
def test_a_uri_that_is_not_exactly_the_inputs_is_unknown(source, acme, form):
    store().put(source.key, b"rows\n")
    with pytest.raises(NotFound):
        inputs.for_job(organization_id=acme.pk, region="world", input_s3_uri=form.format(key=source.key))


def test_inputs_of_others_are_unknown(source, acme):
    store().put(source.key, b"rows\n")
    globex = make_organization("Globex")
    for name in ({"input_id": source.pk}, {"input_s3_uri": uri(source)}, {"input_id": uuid.uuid4()}):
        with pytest.raises(NotFound):
            inputs.for_job(organization_id=globex.pk, region="world", **name)


def test_a_job_names_exactly_one_input(source, acme):
    for names in ({}, {"input_id": source.pk, "input_s3_uri": uri(source)}):
        with pytest.raises(Unprocessable, match="exactly one"):
            inputs.for_job(organization_id=acme.pk, region="world", **names)


def test_formats_are_checked_by_the_service_too(acme):
    with pytest.raises(InvalidRequest):
        inputs.create_upload(organization_id=acme.pk, format=None, actor=ACTOR)
    with pytest.raises(Unprocessable):
        inputs.create_upload(organization_id=acme.pk, format="csv", actor=ACTOR)
