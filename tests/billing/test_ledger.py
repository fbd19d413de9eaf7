"""The ledger's own guards: the database refuses a change, whoever asks."""

import pytest
from django.core.management import call_command
from django.db import DatabaseError, IntegrityError, connection, transaction

from billing.models import Account, Hold, Transfer


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE billing_transfer SET amount_nano = 1",
        "UPDATE billing_transfer SET reason = 'another'",
        "DELETE FROM billing_transfer",
        "TRUNCATE billing_transfer",
    ],
)
def test_a_ledger_line_cannot_be_changed_or_removed(rich, change):
    connection.check_constraints()
    with connection.cursor() as cursor:
        # Tests that commit empty the tables afterwards, so the suite's database has this guard switched off.
        cursor.execute("ALTER TABLE billing_transfer ENABLE TRIGGER billing_transfer_refuse_truncate")
        with pytest.raises(DatabaseError, match="never changed or removed"), transaction.atomic():
            cursor.execute(change)
    assert Transfer.objects.get().reason == "welcome"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE billing_account SET held_nano = -1",
        "UPDATE billing_account SET credit_limit_nano = -1",
        "UPDATE billing_account SET balance_nano = 1 WHERE code = 'grants'",
        "UPDATE billing_account SET code = 'both' WHERE organization_id IS NOT NULL",
    ],
)
def test_an_account_keeps_within_its_constraints(rich, change):
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(change)


@pytest.mark.parametrize(
    "ending",
    [
        {"captured_nano": 1},
        {"captured_nano": 1, "released_nano": 1, "settled_at": "2026-01-01T00:00Z"},
        {"captured_nano": 11, "released_nano": -1, "settled_at": "2026-01-01T00:00Z"},
    ],
)
def test_a_hold_is_open_or_accounts_for_all_of_itself(rich, ending):
    account = Account.objects.get(organization=rich)
    with pytest.raises(IntegrityError), transaction.atomic():
        Hold.objects.create(source="job:1", account=account, amount_nano=10, actor="system:tests", **ending)


def test_a_line_needs_two_accounts_and_a_positive_amount(rich):
    mine, grants = Account.objects.get(organization=rich), Account.objects.get(code="grants")
    for debit, credit, amount in [(mine, mine, 1), (mine, grants, 0), (mine, grants, -1)]:
        with pytest.raises(IntegrityError), transaction.atomic():
            Transfer.objects.create(
                source="x", debit=debit, credit=credit, amount_nano=amount, kind="grant", actor="a", reason=""
            )


def test_the_migrations_can_be_reversed_and_applied_again(db):
    call_command("migrate", "billing", "zero", verbosity=0)
    assert "billing_transfer" not in connection.introspection.table_names()
    with connection.cursor() as cursor:
        cursor.execute("SELECT proname FROM pg_proc WHERE proname LIKE 'billing%'")
        assert cursor.fetchall() == []
    call_command("migrate", verbosity=0)
    assert "billing_transfer" in connection.introspection.table_names()
