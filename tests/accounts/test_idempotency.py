"""Idempotency keys: one effect per key and day, written with the effect."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction

from accounts.models import Idempotency
from accounts.services import idempotency
from anex.core import clock
from anex.core.errors import Conflict, InvalidRequest
from tests.factories import make_organization


@pytest.fixture
def acme(db):
    return make_organization("Acme")


def attempt(organization, key="order-1", body=b"{}", operation="createJob"):
    return idempotency.attempt(organization_id=organization.pk, operation=operation, key=key, body=body)


def claim(asked, reference):
    with transaction.atomic():
        return idempotency.claim(asked, reference=reference)


def test_first_attempt_counts_and_further_ones_get_its_reference(acme):
    assert idempotency.find(attempt(acme)) is None
    assert claim(attempt(acme), "first") == "first"
    assert idempotency.find(attempt(acme)) == "first"
    assert claim(attempt(acme), "second") == "first"


def test_key_with_another_body_is_a_conflict_that_says_so(acme):
    claim(attempt(acme), "first")
    for call in (idempotency.find, lambda asked: claim(asked, "second")):
        with pytest.raises(Conflict) as refused:
            call(attempt(acme, body=b'{"model": "x"}'))
        assert (refused.value.code, refused.value.retry_after) == ("idempotency_key_reused", None)


def test_key_belongs_to_an_operation_of_an_organization(acme):
    claim(attempt(acme), "first")
    assert idempotency.find(attempt(acme, operation="retryJob")) is None
    assert idempotency.find(attempt(make_organization("Globex"))) is None
    assert idempotency.find(attempt(acme, key="order-2")) is None


def test_what_was_rolled_back_leaves_its_key_free(acme):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        idempotency.claim(attempt(acme), reference="first")
        raise ZeroDivisionError
    assert claim(attempt(acme, body=b"corrected"), "second") == "second"


@pytest.mark.parametrize(("hours", "reference"), [(23, "first"), (25, "second")])
def test_key_is_kept_for_a_day(acme, monkeypatch, hours, reference):
    claim(attempt(acme), "first")
    later = clock.now() + timedelta(hours=hours)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert idempotency.find(attempt(acme)) == ("first" if reference == "first" else None)
    assert claim(attempt(acme), "second") == reference
    assert idempotency.find(attempt(acme)) == reference


def test_sweep_forgets_only_what_is_over(acme):
    claim(attempt(acme), "first")
    assert idempotency.forget_expired(clock.now() + timedelta(hours=23)) == 0
    assert idempotency.forget_expired(clock.now() + timedelta(hours=25)) == 1
    assert not Idempotency.objects.exists()


@pytest.mark.parametrize("key", ["", "x" * 256, "é", "tab\t", "line\n", "\x7f", "\x00"])
def test_malformed_key_is_refused(acme, key):
    with pytest.raises(InvalidRequest):
        attempt(acme, key=key)


@pytest.mark.parametrize("key", ["x", "x" * 255, " ~!", "order 1"])
def test_printable_ascii_is_taken(acme, key):
    assert claim(attempt(acme, key=key), "first") == "first"


def test_neither_key_nor_body_is_kept(acme):
    claim(attempt(acme, key="ada@example.com", body=b"secret"), "first")
    row = str(Idempotency.objects.values().get())
    assert "ada@example.com" not in row
    assert "secret" not in row


def test_later_statements_wait_as_long_as_ever(acme):
    with transaction.atomic(), connection.cursor() as cursor:
        idempotency.claim(attempt(acme), reference="first")
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("0",)


@pytest.mark.django_db(transaction=True)
def test_attempt_while_the_first_is_not_over_is_told_to_come_back(monkeypatch):
    acme = make_organization("Acme")
    monkeypatch.setattr(idempotency, "WAIT_S", 0.1)

    def second():
        try:
            return claim(attempt(acme), "second")
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        idempotency.claim(attempt(acme), reference="first")
        with pytest.raises(Conflict) as refused:
            pool.submit(second).result(timeout=30)
    assert (refused.value.code, refused.value.retry_after) == ("idempotency_key_in_use", 1)
    assert claim(attempt(acme), "third") == "first"
