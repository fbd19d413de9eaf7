"""A key of an organization with credits, a scripted engine, and the surface that has it as its model server."""

from collections.abc import Iterator

import pytest

from accounts.models import Organization
from realtime.house import Patience
from tests.factories import KeyInHand, grant_credits, make_key
from tests.inference.scripted_server import ScriptedServer, scripted_server
from tests.realtime.served import Surface, configure, serving

# Short, so that no test waits for what takes seconds elsewhere.
SHORT = Patience(keep_alive_s=0.15, silence_s=0.6, answer_s=1.5)


@pytest.fixture
def key(transactional_db) -> KeyInHand:
    made = make_key()
    grant_credits(Organization.objects.get())
    return made


@pytest.fixture(scope="session")
def scripted() -> Iterator[ScriptedServer]:
    with scripted_server() as server:
        yield server


@pytest.fixture
def surface(key: KeyInHand, scripted: ScriptedServer) -> Iterator[Surface]:
    configure(scripted.port)
    with serving(key, SHORT) as running:
        yield running
