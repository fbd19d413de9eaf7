"""Fixtures of the whole suite."""

import pytest
from django.db import connection
from hypothesis import HealthCheck, settings

# How fast a machine is says nothing about whether a property holds.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

KEEP_TRUNCATABLE = """
DO $$
DECLARE
    guard record;
BEGIN
    FOR guard IN
        SELECT tgname, tgrelid::regclass AS place FROM pg_trigger WHERE tgname LIKE '%\\_refuse\\_truncate'
    LOOP
        EXECUTE format('ALTER TABLE %s DISABLE TRIGGER %I', guard.place, guard.tgname);
    END LOOP;
END $$
"""


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """Transactional tests empty every table afterwards, which append-only tables refuse; let this database do it."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(KEEP_TRUNCATABLE)
