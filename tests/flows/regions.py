"""Two regions as an operator sets them up: one Postgres, and each its own store, Valkey, model server, web and worker.

To their processes the HTTPS server of the tests is a customer's public one.
"""

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx
import redis
from celery import Celery

from jobs.storage.s3 import connect
from tests.https import Authority, Server
from tests.stack import SETUP, Stack

TOKEN = "metrics-token"
# Globex is routed to eu. A model is served in world alone, and each customer has an endpoint and a person signed in.
JOIN = """
from importlib import import_module
from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from jobs.services import endpoints
actor = system("setup")
grace = User.objects.create_user("grace@example.com", "correct horse battery")
globex = organizations.create(name="Globex", owner_id=grace.pk, actor=actor)
grants.give(organization_id=globex.pk, cents=10000, reason="test", source="globex", actor=actor)
organizations.route_to_eu(organization_id=globex.pk, enabled=True, actor=actor, reason="asked for it")
at_home = keys.create(organization_id=globex.pk, name="test", actor=actor)
registry.configure(model_id="scripted", base_url="http://127.0.0.1:{eu_port}/v1", served_name="scripted",
                   region="eu", actor=actor)
registry.configure(model_id="scripted-embed", base_url="http://127.0.0.1:{port}/v1", served_name="scripted-embed",
                   actor=actor)
def joined(name, user, owner, secret):
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    endpoints.create(organization_id=owner.pk, wishes=endpoints.Wishes("{hook}" + name), actor=actor)
    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY], session[HASH_SESSION_KEY] = str(user.pk), user.get_session_auth_hash()
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session.create()
    return [str(owner.pk), secret, session.session_key]
print(json.dumps([joined("world", ada, organization, key.secret), joined("eu", grace, globex, at_home.secret)]))
"""
# A process to which the customer's server is public, and whose e-mails are files.
PROGRAM = """
import runpy, ssl, sys
from ipaddress import ip_address
import django
django.setup()
from django.conf import settings
from anex.core import safe_http
from anex.core.destinations import Rules
trust = safe_http.trusting(ssl.create_default_context(cafile="{authority}"))
safe_http.PUBLIC = Rules(lambda _: True, frozenset({{{port}}}), lambda: trust, lambda *_: [ip_address("127.0.0.1")])
settings.EMAIL_BACKEND, settings.EMAIL_FILE_PATH = "django.core.mail.backends.filebased.EmailBackend", "{mails}"
"""
RUN = """
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Region(Stack):
    """The processes of a region; the second stands `beside` the first. Its `bucket` is one of an S3 server, if any."""

    def __init__(
        self,
        name: str,
        state: Path,
        customer: Server,
        authority: Authority,
        *,
        beside: Self | None = None,
        bucket: Mapping[str, str] | None = None,
    ) -> None:
        state.mkdir()
        super().__init__(
            state,
            durable=False,
            beside=beside,
            environment={
                "ANEX_REGION": name,
                "ANEX_METRICS_TOKEN": TOKEN,
                "ANEX_OTHER_REGION_URL": f"https://not-{name}.test",
                **(bucket or {}),
            },
        )
        self.name, self.customer, self.bucket = name, customer, bucket
        self.session = ""
        self.mails = state.parent / "mails"
        self._program = PROGRAM.format(
            authority=authority.folder / "authority.pem", port=customer.port, mails=self.mails
        )

    def start(self, name: str, arguments: list[str], **options: Any) -> Any:
        """As ever, but web and workers reach the customer's server."""
        if arguments[0] == "-m" and name != "engine":
            arguments = ["-c", self._program + RUN, *arguments[1:]]
        return super().start(name, arguments, **options)

    @property
    def url(self) -> str:
        """Where its web process is."""
        return f"http://127.0.0.1:{self.web_port}"

    def calling(self, region: Self) -> httpx.Client:
        """With the key of this region's customer, at a region."""
        return httpx.Client(base_url=region.url, headers={"Authorization": f"Bearer {self.secret}"}, timeout=60)

    def browsing(self, region: Self) -> httpx.Client:
        """As this region's customer, signed in, in the console of a region."""
        return httpx.Client(base_url=region.url, cookies={"anex_session": self.session}, timeout=60)

    @property
    def objects(self) -> dict[str, bytes]:
        """The region's store: every object and its bytes."""
        if self.bucket:
            name = self.bucket["ANEX_S3_BUCKET"]
            client = connect(endpoint_url=self.bucket["ANEX_S3_ENDPOINT_URL"], region=self.bucket["ANEX_S3_REGION"])
            listed = [each["Key"] for each in client.list_objects_v2(Bucket=name).get("Contents", [])]
            return {key: client.get_object(Bucket=name, Key=key)["Body"].read() for key in listed}
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

    def sweep(self, task: str) -> None:
        """Have a worker of the region do what the scheduler asks for once a minute."""
        prefix = "" if self.name == "world" else f"{self.name}:"
        with Celery(broker=self.valkey.url(), set_as_current=False) as app:
            app.conf.update(task_default_queue="batch", broker_transport_options={"global_keyprefix": prefix})
            app.send_task(task)

    def metrics(self) -> bytes:
        """What a monitor is shown."""
        url = f"http://127.0.0.1:{self.web_port}/metrics"
        return httpx.get(url, headers={"Authorization": f"Bearer {TOKEN}"}).raise_for_status().content


@contextmanager
def two_regions(
    folder: Path, customer: Server, authority: Authority, buckets: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[Region, Region]]:
    """`world` and `eu`, set up and started."""
    folder.chmod(0o755)
    (folder / "mails").mkdir()
    world = Region("world", folder / "world", customer, authority, bucket=buckets.get("world"))
    eu = Region("eu", folder / "eu", customer, authority, beside=world, bucket=buckets.get("eu"))
    try:
        for region in (world, eu):
            region.start_services()
        begin = SETUP.format(cents=10_000, port=world.engine_port, concurrency=8).replace("print(", "str(")
        join = JOIN.format(port=world.engine_port, eu_port=eu.engine_port, hook=customer.url("/hook/"))
        found = json.loads(world.run(world._program + begin + join))
        for region, told in zip((world, eu), found, strict=True):
            region.organization_id, region.secret, region.session = told
            region.start_platform()
        for region in (world, eu):
            region.wait_for_web()
        yield world, eu
    finally:
        for region in (eu, world):
            region.stop_all()


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
