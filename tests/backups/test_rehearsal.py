"""A backup of an installation at work, restored into an empty one: money, jobs and results equal, and work goes on."""

import io
import json
import threading
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.db.models import Q
from psycopg import sql

from accounts.models import Organization
from anex.core.actors import system
from billing.models import Account, Transfer
from billing.services import grants
from jobs.models import File, Job, Part
from jobs.run import pump as pump_module
from jobs.run.control import finish_chunk
from jobs.run.pump import Pump
from jobs.services import pins
from jobs.storage import store
from tests.jobs import batches
from tests.jobs.conftest import acme
from tests.jobs.run.conftest import engine, kept_engine, kept_journal, pump
from tests.jobs.run.driver import approve, chat_line, submit
from tests.jobs.run.test_pump import result, run, wait_for, wait_until

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["acme", "engine", "kept_engine", "kept_journal", "pump"]

OF_ONE_STORE = ("etag", "rows_etag")


@pytest.fixture(autouse=True)
def backed_up_store(settings: Any, tmp_path: Path) -> None:
    settings.ANEX_STORAGE_DIR = tmp_path / "objects"


@pytest.fixture
def move(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Goes to an installation with an empty database and an empty store."""
    first, empty = connection.settings_dict["NAME"], f"restored_{uuid4().hex}"

    def to_the_empty_one() -> None:
        with connection.cursor() as cursor:
            cursor.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(empty)))
        connections.close_all()
        monkeypatch.setitem(connection.settings_dict, "NAME", empty)
        settings.ANEX_STORAGE_DIR = tmp_path / "other"

    yield to_the_empty_one
    connections.close_all()
    monkeypatch.setitem(connection.settings_dict, "NAME", first)
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(empty)))


def tables() -> dict[str, list[str]]:
    """Every row of every table as text, but for what belongs to one store."""
    found = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(
                sql.SQL("SELECT (to_jsonb(t) - %s::text[])::text FROM {} t ORDER BY 1").format(sql.Identifier(table)),
                [list(OF_ONE_STORE)],
            )
            found[table] = [row for (row,) in cursor.fetchall()]
    return found


def contents() -> dict[str, bytes]:
    return {stored.key: store().read(stored.key) for stored in store().list("")}


def test_what_is_restored_is_equal_and_goes_on(
    acme: Organization, engine: Any, pump: Pump, move: Any, tmp_path: Path
) -> None:
    run(acme, [chat_line(f"row-{row}") for row in range(70)])
    batch = wait_for(batches.create(acme, batches.line("a"), batches.line("b", "[[status 400]]")), "done")
    waiting = wait_for(submit(acme, chat_line("later").encode()), "cost_ready")
    pump.stop()
    before, objects = tables(), contents()
    call_command("backup", str(tmp_path / "backup"))
    assert json.loads((tmp_path / "backup" / "backup.json").read_text())["books"]["transferred_nano"] > 0
    assert (tmp_path / "backup").stat().st_mode & 0o77 == 0

    move()
    call_command("restore", str(tmp_path / "backup"))
    after = tables()
    assert {name for name in before if before[name] != after[name]} == set()
    assert before.keys() == after.keys()
    assert contents() == objects
    for key, pin in pins.of("world").items():
        assert store().read(key, etag=pin.etag) == objects[key]
    files = File.objects.filter(job=batch)
    assert [store().read(file.key, etag=file.etag) for file in files] == [objects[file.key] for file in files]
    with pytest.raises(CommandError, match="The database has tables already"):
        call_command("restore", str(tmp_path / "backup"))

    second = Pump(region="world", lease_seconds=5)
    second.start()
    try:
        assert wait_for(approve(Job.objects.get(pk=waiting.pk)), "done").success_rows == 1
    finally:
        second.stop()


def test_backup_made_while_rows_run_and_money_moves_is_one_moment(
    acme: Organization, engine: Any, pump: Pump, move: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However long it takes, the job is not over before it.
    backed_up = threading.Event()
    monkeypatch.setattr(pump_module, "finish_chunk", lambda done: backed_up.wait(60) and finish_chunk(done))
    rows = [chat_line(f"row-{row}", f"[[sleep 50]] {row}") for row in range(300)]
    job = approve(wait_for(submit(acme, "\n".join(rows).encode()), "cost_ready"))
    wait_until(Part.objects.filter(chunk__kind="rows", chunk__job=job).exists)
    over = threading.Event()
    giver = threading.Thread(target=give_until, args=(acme, over))
    giver.start()
    try:
        call_command("backup", str(tmp_path / "backup"))
    finally:
        over.set()
        giver.join()
        backed_up.set()
    pump.stop()

    move()
    told = io.StringIO()
    call_command("restore", str(tmp_path / "backup"), stdout=told)
    assert "not in the backup" not in told.getvalue()
    assert Job.objects.get(pk=job.pk).status == "in_progress"
    second = Pump(region="world", lease_seconds=1)
    second.start()
    try:
        done = wait_for(Job.objects.get(pk=job.pk), "done")
    finally:
        second.stop()
    assert [line["custom_id"] for line in result(done)] == [f"row-{row}" for row in range(300)]
    ((captured,),) = Transfer.objects.filter(source=f"job:{job.pk}:capture").values_list("amount_nano")
    assert captured == done.charge_cents * 10_000_000 > 0
    account = Account.objects.get(organization=acme)
    assert (account.balance_nano, account.held_nano) == (sum_of_transfers(account), 0)


def give_until(acme: Organization, over: threading.Event) -> None:
    """A cent at a time."""
    number = 0
    while not over.is_set():
        number += 1
        actor = system("test")
        grants.give(organization_id=acme.pk, cents=1, reason="test", source=f"busy:{number}", actor=actor)
    connection.close()


def sum_of_transfers(account: Account) -> int:
    found = Transfer.objects.filter(Q(credit=account) | Q(debit=account)).values_list("credit_id", "amount_nano")
    return sum(amount if credit == account.pk else -amount for credit, amount in found)


def test_nothing_is_restored_from_half_a_backup_another_region_s_or_under_another_key(
    db: None, settings: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "backup"
    call_command("backup", str(folder), "--only", "objects")
    settings.ANEX_REGION = "eu"
    with pytest.raises(CommandError, match="backup of region world"):
        call_command("restore", str(folder))
    settings.ANEX_REGION, settings.SECRET_KEY = "world", "another-key-" * 5
    with pytest.raises(CommandError, match="SECRET_KEY is not the one"):
        call_command("restore", str(folder))
    (folder / "backup.json").unlink()
    with pytest.raises(CommandError, match="no finished backup"):
        call_command("restore", str(folder))


def test_an_object_that_rotted_in_the_backup_is_not_put_back(db: None, settings: Any, tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    store().put("uploads/one/two.jsonl", b"what was said")
    call_command("backup", str(folder), "--only", "objects")
    settings.ANEX_STORAGE_DIR = tmp_path / "other"
    (folder / "objects" / "uploads" / "one" / "two.jsonl").write_bytes(b"what was sad!")
    with pytest.raises(CommandError, match="is not what was copied"):
        call_command("restore", str(folder), "--only", "objects")
    assert contents() == {}
