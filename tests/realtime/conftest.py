"""A key of an organization with credits."""

import pytest

from accounts.models import Organization
from tests.factories import KeyInHand, grant_credits, make_key


@pytest.fixture
def key(transactional_db) -> KeyInHand:
    made = make_key()
    grant_credits(Organization.objects.get())
    return made
