"""The backend that the setting ENGINE names.

A server that is stopped, or a host that is gone behind a proxy, keeps the connection and never answers: neither
`connect_timeout` nor keepalives notice, and a limit that the server keeps does not help.
"""

from types import ModuleType
from typing import Any

import psycopg
from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus

from anex.core import clock, patience


class _Connection(psycopg.Connection[Any]):
    """One whose server is waited for as long as this process has patience."""

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """As psycopg; OperationalError where it took too long, and the connection is closed."""
        try:
            return super().wait(gen, interval, patience.chosen().statement_s if timeout is None else timeout)
        except psycopg.OperationalError:
            # What it still answers would be taken for the answer to something else.
            if self.pgconn.transaction_status == TransactionStatus.ACTIVE:
                self.close()
            raise


_driver = ModuleType(psycopg.__name__)
vars(_driver).update(vars(psycopg) | {"connect": _Connection.connect})


class DatabaseWrapper(base.DatabaseWrapper):
    """As Django's, with connections that give up, and that end with the request where no other would find them."""

    Database = _driver

    def connect(self) -> None:
        """A new connection."""
        super().connect()
        if not patience.chosen().keeps_connections:
            self.close_at = clock.monotonic()
