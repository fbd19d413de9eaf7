"""The platform that clients talk to: real processes, the scripted engine, and the models of `make demo`."""

import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anex.supervisor.platform import DECIDER, EMBEDDER, MODEL
from anex.supervisor.services import ENGINE_KEY
from anex.supervisor.valkey import free_port
from tests.stack import Stack, send

SCRIPTED = {"CHAT": "scripted", "MEDIA": "scripted-media", "EMBEDDING": "scripted-embed", "DECISION": "scripted-decide"}
LOCAL = {"CHAT": MODEL, "EMBEDDING": EMBEDDER, "DECISION": DECIDER}
SETUP = """
import json, django
django.setup()
from accounts.key_options import KeyOptions
from accounts.services import keys, organizations
from accounts.models import User
from anex.core.actors import system
from inference.backends import registry
actor = system("setup")
for facts in {servers}:
    registry.configure(**facts, actor=actor)
globex = organizations.create(name="Globex", owner_id=User.objects.get().pk, actor=actor)
poor = keys.create(organization_id=globex.pk, name="poor", actor=actor)
options = KeyOptions(scopes=frozenset({{"batch:read"}}))
narrow = keys.create(organization_id="{organization}", name="narrow", options=options, actor=actor)
print(json.dumps([poor.secret, narrow.secret]))
"""


@dataclass(frozen=True, slots=True)
class Platform:
    """A running platform; `environments` are those of a client's tests, by whose models they name."""

    stack: Stack
    environments: dict[str, dict[str, str]]

    def left_in_flight(self) -> int:
        """Requests that are not settled some seconds after the last one, or 1 where only money is still held."""
        deadline = time.monotonic() + 20
        while True:
            ((requests, nano),) = self.stack.query("SELECT sum(in_flight), sum(held_nano) FROM billing_account")
            if not requests and not nano:
                return 0
            if time.monotonic() > deadline:
                return int(requests) or 1
            time.sleep(0.2)


@contextmanager
def running(folder: Path, cache: Path) -> Iterator[Platform]:
    """The platform until the block ends, with environments for `scripted` and for `local` models on /v1.

    `second` is the scripted ones on /openai/v1.
    """
    key = secrets.token_hex(16)
    with Stack(folder, durable=False, environment={ENGINE_KEY: key}) as stack:
        chat, encoder = free_port(), free_port()
        stack.start("model", ["-m", "inference.engines.local", "--port", str(chat)])
        stack.start("encoder", ["-m", "inference.engines.minilm", "--port", str(encoder), "--cache", str(cache)])
        for port in (chat, encoder):
            stack.wait_port(port, seconds=120)
        servers = [_server(name, stack.engine_port) for name in SCRIPTED.values()]
        servers.append(_server(MODEL, chat) | {"credential_env": ENGINE_KEY, "reuse_connections": False})
        servers += [_server(name, encoder) | {"credential_env": ENGINE_KEY} for name in (DECIDER, EMBEDDER)]
        setup = SETUP.format(servers=servers, organization=stack.organization_id)
        poor, narrow = json.loads(stack.run(setup))
        origin = f"http://127.0.0.1:{stack.web_port}"
        _wait_until_offered(origin, MODEL, EMBEDDER)
        told = {
            "ANEX_ORIGIN": origin,
            "ANEX_BASE_URL": f"{origin}/v1",
            "ANEX_API_KEY": stack.secret,
            "ANEX_POOR_KEY": poor,
            "ANEX_NARROW_KEY": narrow,
        }
        named = {"scripted": (told, SCRIPTED), "local": (told, LOCAL)}
        named["second"] = (told | {"ANEX_BASE_URL": f"{origin}/openai/v1"}, SCRIPTED)
        yield Platform(stack, {name: _environment(*facts) for name, facts in named.items()})


def _wait_until_offered(origin: str, *models: str) -> None:
    """The web process reads the registry every few seconds; what was set last in it is then known with the rest."""
    deadline = time.monotonic() + 30
    while not all(send(f"{origin}/v1/models/{model}", "GET")[0] == 200 for model in models):
        assert time.monotonic() < deadline, models
        time.sleep(0.1)


def _server(model: str, port: int) -> dict[str, object]:
    return {"model_id": model, "base_url": f"http://127.0.0.1:{port}/v1", "served_name": model, "concurrency": 8}


def _environment(told: dict[str, str], models: dict[str, str]) -> dict[str, str]:
    # What is named here would lead a client, or its Python, elsewhere.
    bent = ("OPENAI_", "TYPESAFE_", "PYTHON", "DJANGO_", "ANEX_", "DATABASE_URL", "REDIS_URL")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(bent)}
    return kept | told | {f"ANEX_{role}_MODEL": name for role, name in models.items()}
