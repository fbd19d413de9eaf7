"""Fixtures of the whole suite."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import TransactionTestCase
from hypothesis import HealthCheck, settings
from psycopg.errors import DeadlockDetected

from anex.core import openai_errors
from anex.core.destinations import Rules
from anex.core.error_catalogue import CATALOGUE
from anex.core.errors import AnexError
from inference.catalogue import include
from inference.refusals import SENTENCES
from tests import https
from tests.models_folder import ModelsFolder
from tests.services import TEMPLATE

# They need the clients that they are about; see tests/clients.
collect_ignore = ["clients/suites"]

# How fast a machine is says nothing about whether a property holds.
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=1000)
# The same examples every time, so that a change is judged by what it changed; make explore looks for new ones.
settings.register_profile("suite", settings.get_profile("explore"), derandomize=True, max_examples=100)
settings.load_profile("suite")

# As one who copies a database does: rows go in any order, and append-only tables let them. Where a process of the
# test still writes, it is not the one that gives way.
EMPTY_TABLES = """
DO $$
DECLARE
    place regclass;
    filled boolean;
BEGIN
    SET LOCAL session_replication_role = replica;
    SET LOCAL deadlock_timeout = '50ms';
    FOR place IN
        SELECT oid::regclass FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname NOT IN
            ('django_migrations', 'django_content_type', 'auth_permission', 'accounts_cache')
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %s)', place) INTO filled;
        IF filled THEN
            EXECUTE format('DELETE FROM %s', place);
        END IF;
    END LOOP;
END $$
"""


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix):
    """Migrations were applied once, not by every process."""
    connection.settings_dict["TEST"]["TEMPLATE"] = os.environ.get(TEMPLATE)


@pytest.fixture(scope="session", autouse=True)
def tables_are_emptied_where_they_have_rows() -> Iterator[None]:
    """After a transactional test; Django truncates every table and makes permissions again, in half a second."""

    def empty(case: TransactionTestCase) -> None:
        for chance in range(5):
            try:
                with connection.cursor() as cursor:
                    cursor.execute(EMPTY_TABLES)
                return
            except OperationalError as refused:
                if not isinstance(refused.__cause__, DeadlockDetected) or chance == 4:
                    raise

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty)
        yield


@pytest.fixture(scope="session", autouse=True)
def every_code_is_in_the_catalogue() -> Iterator[None]:
    """No test meets an error in OpenAI's shape whose code nobody explains."""
    rendered = openai_errors.of

    def checked(error: AnexError) -> dict[str, Any]:
        assert error.code in CATALOGUE or error.code in SENTENCES, error.code
        return rendered(error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openai_errors, "of", checked)
        yield


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> https.Authority:
    return https.make_authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def https_server(authority: https.Authority) -> Iterator[https.Server]:
    with https.serving(authority) as running:
        yield running


@pytest.fixture
def https_rules(https_server: https.Server, authority: https.Authority) -> Rules:
    """Where the HTTPS server is what is public; patch `safe_http.PUBLIC` with it to reach services."""
    return https.rules_for(https_server, authority)


@pytest.fixture
def inner() -> Iterator[https.Listener]:
    with https.inner_listener() as listener:
        yield listener


@pytest.fixture
def operator(tmp_path: Path, settings: Any) -> Iterator[ModelsFolder]:
    """An empty folder of an operator's models."""
    settings.ANEX_MODELS_DIR = tmp_path
    yield ModelsFolder(tmp_path)
    include(None)
