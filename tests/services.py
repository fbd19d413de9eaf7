"""Real services for the whole suite: embedded Postgres and Valkey, unless the environment names others.

Loaded with `-p tests.services`, before Django reads its settings; pytest-xdist workers inherit the environment.
"""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from anex.supervisor.postgres import Postgres
from anex.supervisor.valkey import Valkey
from tests import clusters

# The name of the database that the suite's own are copied from; set where this started the server.
TEMPLATE = "ANEX_TEST_TEMPLATE"

_started: list[Postgres | Valkey] = []
_state = Path()


def _start_services() -> None:
    global _state
    if "DATABASE_URL" in os.environ and "REDIS_URL" in os.environ:
        return
    _state = state = Path(tempfile.mkdtemp(prefix="anex-test-", dir="/var/tmp"))
    state.chmod(0o755)
    if "DATABASE_URL" not in os.environ:
        postgres = Postgres(state / "postgres", settings={**clusters.FAST, "max_connections": "300"})
        clusters.migrated(postgres)
        postgres.start()
        os.environ["DATABASE_URL"], os.environ[TEMPLATE] = postgres.url(), clusters.TEMPLATE
        _started.append(postgres)
    if "REDIS_URL" not in os.environ:
        valkey = Valkey(state / "valkey")
        valkey.start()
        os.environ["REDIS_URL"] = valkey.url()
        _started.append(valkey)


_start_services()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop what this process started."""
    stop()


def stop() -> None:
    """End the services that were started here and remove their files."""
    while _started:
        _started.pop().stop()
    if _state.name:
        shutil.rmtree(_state, ignore_errors=True)
