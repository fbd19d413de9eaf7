"""Fixtures of money."""

from uuid import uuid4

import pytest

from accounts.models import Organization
from anex.core.actors import system
from billing.services import grants

ACTOR = system("tests")


@pytest.fixture
def organization(db):
    return Organization.objects.create(name="Acme")


@pytest.fixture
def rich(organization):
    """An organization with 10.00 dollars."""
    grants.give(organization_id=organization.id, cents=1_000, reason="welcome", source=f"grant:{uuid4()}", actor=ACTOR)
    return organization
