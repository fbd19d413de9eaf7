"""Two regions as an operator sets them up: one Postgres, and each its own store, Valkey, model server, web and worker.

To their processes the HTTPS server of the tests is a customer's public one.
"""

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import httpx
import redis

from tests.https import Authority, Server
from tests.stack import SETUP, Stack

TOKEN = "metrics-token"
JOIN = """
import json, django
django.setup()
from accounts.models import User
from accounts.services import keys, organizations
from anex.core.actors import system
from billing.services import grants
from inference.backends import registry
actor = system("setup")
grace = User.objects.create_user("grace@example.com", "correct horse battery")
globex = organizations.create(name="Globex", owner_id=grace.pk, actor=actor)
grants.give(organization_id=globex.pk, cents=10000, reason="test", source="globex", actor=actor)
organizations.route_to_eu(organization_id=globex.pk, enabled=True, actor=actor, reason="asked for it")
key = keys.create(organization_id=globex.pk, name="test", actor=actor)
registry.configure(model_id="scripted", base_url="http://127.0.0.1:{port}/v1", served_name="scripted",
                   region="eu", actor=actor)
print(json.dumps([str(globex.pk), key.secret]))
"""
# A process to which the customer's server is public.
PROGRAM = """
import runpy, ssl, sys
from ipaddress import ip_address
import django
django.setup()
from anex.core import safe_http
from anex.core.destinations import Rules
trust = safe_http.trusting(ssl.create_default_context(cafile="{authority}"))
safe_http.PUBLIC = Rules(lambda _: True, frozenset({{{port}}}), lambda: trust, lambda *_: [ip_address("127.0.0.1")])
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
ENDPOINT = """
import sys
from anex.core.actors import system
from jobs.services import endpoints
endpoints.create(organization_id=sys.argv[1], wishes=endpoints.Wishes(sys.argv[2]), actor=system("test"))
"""


class Region(Stack):
    """The processes of a region; the second stands `beside` the first."""

    def __init__(
        self, name: str, state: Path, customer: Server, authority: Authority, *, beside: Self | None = None
    ) -> None:
        super().__init__(
            state,
            durable=False,
            beside=beside,
            environment={
                "ANEX_REGION": name,
                "ANEX_METRICS_TOKEN": TOKEN,
                "ANEX_OTHER_REGION_URL": f"https://not-{name}.test",
            },
        )
        self.name, self.customer = name, customer
        self._setup = (JOIN if beside else SETUP).format(port=self.engine_port, cents=10_000, concurrency=8)
        self._program = PROGRAM.format(authority=authority.folder / "authority.pem", port=customer.port)

    def start(self, name: str, arguments: list[str], **options: Any) -> Any:
        """As ever, but web and workers reach the customer's server."""
        if arguments[0] == "-m" and name != "engine":
            arguments = ["-c", self._program, *arguments[1:]]
        return super().start(name, arguments, **options)

    @property
    def client(self) -> httpx.Client:
        """With the key of the region's customer."""
        url, key = f"http://127.0.0.1:{self.web_port}", {"Authorization": f"Bearer {self.secret}"}
        return httpx.Client(base_url=url, headers=key, timeout=60)

    def add_endpoint(self, path: str) -> None:
        """A webhook endpoint of the region's customer."""
        code = f"import sys; sys.argv = ['', {self.organization_id!r}, {self.customer.url(path)!r}]\n" + ENDPOINT
        self.run(self._program.partition("sys.argv =")[0] + code)

    @property
    def objects(self) -> dict[str, bytes]:
        """The region's store: every object and its bytes."""
        root = self.state / "objects" / self.name / "objects"
        return {file.relative_to(root).as_posix(): file.read_bytes() for file in root.rglob("*") if file.is_file()}

    def owners(self) -> set[uuid.UUID]:
        """The jobs and inputs that names of objects tell of."""
        return {uuid.UUID(found) for key in self.objects for found in _ID.findall(key)} - {
            uuid.UUID(self.organization_id)
        }

    def shared_files(self) -> Iterator[Path]:
        """What lies outside the stores: logs, and the files of Postgres with its write-ahead log."""
        for file in self.state.rglob("*"):
            inner = file.relative_to(self.state).parts[0]
            if inner not in ("objects", "journal") and file.is_file():
                yield file

    def kept(self) -> bytes:
        """Everything that is in the region's Valkey, its names too."""
        valkey, found = redis.Redis.from_url(self.valkey.url()), list[Any]()
        for name in valkey.scan_iter():
            kind = valkey.type(name)
            read = {b"string": valkey.get, b"hash": valkey.hgetall, b"set": valkey.smembers}.get(kind)
            found += [name, read(name) if read else valkey.lrange(name, 0, -1) if kind == b"list" else b""]
        valkey.close()
        return repr(found).encode()

    def metrics(self) -> bytes:
        """What a monitor is shown."""
        url = f"http://127.0.0.1:{self.web_port}/metrics"
        return httpx.get(url, headers={"Authorization": f"Bearer {TOKEN}"}).raise_for_status().content


def read_tables(region: Region) -> Iterator[tuple[str, str]]:
    """Every row of every table of the shared database, as text, with its table."""
    tables = region.query("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace")
    for (table,) in tables:
        for (row,) in region.query(f'SELECT t::text FROM "{table}" t'):
            yield table, row


def line(custom_id: str, text: str, **body: Any) -> str:
    """A row of a job or a batch."""
    asked = {"messages": [{"role": "user", "content": text}], "max_tokens": 16} | body
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": asked})
