"""A key of an organization with credits, a scripted engine, and the surface that has it as its model server."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from accounts.models import Organization
from realtime.house import Patience
from tests.factories import KeyInHand, grant_credits, make_key
from tests.inference.scripted_server import ScriptedServer, scripted_server
from tests.realtime.served import Surface, configure, serving

# Comments come soon, to be seen; nothing else ends early, for on a busy machine everything takes long.
PATIENT = Patience(keep_alive_s=0.15)


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
    with serving(key, PATIENT) as running:
        yield running


@pytest.fixture
def patient(key: KeyInHand, scripted: ScriptedServer) -> Iterator[Callable[..., Surface]]:
    """A surface with a patience of its own."""
    configure(scripted.port)
    with ExitStack() as opened:
        yield lambda **patience: opened.enter_context(serving(key, replace(PATIENT, **patience)))
