"""What an installation runs on: Postgres, the broker, the store, the disk."""

import os
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import uuid4

from django.conf import settings
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from redis import Redis, RedisError

from anex.core import clock
from anex.core.errors import AnexError
from anex.doctor.findings import Finding, broken, ok, warning
from jobs import storage

# `bit_count` of bit strings came with it.
_OLDEST_POSTGRES: Final = 140_000
_CLOCK_S: Final = 2.0
# In so many seconds the server has to notice that a host is gone, whose locks it keeps until then.
_GONE_S: Final = 120
_NOTICES: Final = "SELECT {} + {} * {}".format(
    *(f"current_setting('tcp_keepalives_{name}')::int" for name in ("idle", "interval", "count"))
)
_PATIENCE_S: Final = 5
_LOW_SHARE, _LOW_BYTES, _FULL_BYTES = 0.1, 10 * 2**30, 2**30


def database() -> Iterator[Finding]:
    """Whether Postgres answers, is new enough and has the same time as this machine; its tables."""
    began = clock.monotonic()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('server_version_num')::int, clock_timestamp()")
            version, there = cursor.fetchone()
            cursor.execute(_NOTICES)
            ((gone_s,),) = cursor.fetchall()
    except Error as error:
        told = f"Postgres does not answer: {_why(error)}"
        yield broken("database", told, "Check DATABASE_URL, that the server runs, and that this host may reach it.")
        return
    told = f"Postgres {version // 10_000} answers in {(clock.monotonic() - began) * 1000:.0f} ms"
    if version < _OLDEST_POSTGRES:
        yield broken("database", told, "Use Postgres 14 or newer.")
    else:
        yield ok("database", told)
    yield from locks(gone_s)
    yield _clock(there)
    yield from _migrations()


def _why(error: Error) -> str:
    """The server's or the network's own words, which name host, user and database; of anything else its kind."""
    said = str(error).partition("\n")[0].removeprefix("connection failed: ")
    return said if said.startswith(("connection to server", "failed to resolve host")) else type(error).__name__


def locks(gone_s: int) -> Iterator[Finding]:
    """Whether the server notices soon that a host is gone (0: by a socket of its own host, where none can be)."""
    if gone_s > _GONE_S:
        told = f"Postgres keeps the locks of a host that is gone for {gone_s / 60:.0f} minutes"
        remedy = "Set tcp_keepalives_idle=15, tcp_keepalives_interval=5 and tcp_keepalives_count=3 in postgresql.conf."
        yield warning("locks", told, remedy)


def _clock(there: datetime) -> Finding:
    apart_s = abs((clock.now() - there).total_seconds())
    told = f"{apart_s:.1f} s from the database's"
    if apart_s <= _CLOCK_S:
        return ok("clock", told)
    return broken("clock", told, "Let chrony or ntpd set the time on both hosts: leases and links depend on it.")


def _migrations() -> Iterator[Finding]:
    executor = MigrationExecutor(connection)
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    unknown = set(executor.loader.applied_migrations) - set(executor.loader.disk_migrations)
    ours = {app for app, _ in executor.loader.disk_migrations}
    newer = sorted(".".join(each) for each in unknown if each[0] in ours)
    if waiting:
        yield broken("migrations", f"{len(waiting)} are not applied", "Run: python manage.py migrate")
    elif newer:
        told = f"the database is ahead of this release: {', '.join(newer[:3])}"
        yield warning("migrations", told, "Expected during an upgrade; otherwise start the newer release.")
    else:
        yield ok("migrations", "all are applied")


def broker() -> Iterator[Finding]:
    """Whether Valkey or Redis answers and can be written to."""
    key = f"anex-doctor:{uuid4().hex}"
    waits = {"socket_timeout": _PATIENCE_S, "socket_connect_timeout": _PATIENCE_S}
    try:
        with Redis.from_url(settings.CELERY_BROKER_URL, **waits) as client:
            client.set(key, b"x", ex=60)
            wrote = client.get(key) == b"x"
            client.delete(key)
            shared = bool(client.exists(other_regions_key()))
    except (RedisError, ValueError) as error:
        remedy = "Check REDIS_URL and that the server runs and takes writes. Until then jobs start later."
        yield broken("broker", f"it does not answer: {type(error).__name__}", remedy)
        return
    if wrote and shared:
        told = "the other region uses it too, so that answers of one region are kept in the other"
        yield broken("broker", told, "Give each region a Valkey of its own (REDIS_URL), and empty this one.")
    elif wrote:
        yield ok("broker", "it takes and gives")
    else:
        yield broken("broker", "it lost what it was given", "Raise its maxmemory; use the policy noeviction.")


def other_regions_key() -> str:
    """A name that processes of the other region leave behind for good in a Valkey that they use."""
    prefix = "eu:" if settings.ANEX_REGION == "world" else ""
    return f"{prefix}_kombu.binding.{settings.CELERY_TASK_DEFAULT_QUEUE}"


def store() -> Iterator[Finding]:
    """Whether an object can be written, read, listed and deleted in the store of this region."""
    key, data = f"doctor/{uuid4().hex}", b"doctor"
    where = "the bucket" if settings.ANEX_S3_BUCKET else "the local folder"
    if not settings.ANEX_S3_BUCKET and _is_foreign(Path(settings.ANEX_STORAGE_DIR)):
        told = "root looks at a folder of another user: what that user may do in it was not tried"
        yield warning("store", told, "Run this as the user of the processes.")
        return
    try:
        kept = storage.store(settings.ANEX_REGION)
        kept.put(key, data)
        try:
            same = kept.read(key) == data and any(found.key == key for found in kept.list("doctor/"))
        finally:
            kept.delete([key])
        gone = kept.stat(key) is None
    except (AnexError, OSError) as error:
        remedy = "Check ANEX_S3_BUCKET, its endpoint and credentials: they must write, read, list and delete."
        if not settings.ANEX_S3_BUCKET:
            remedy = "Let the processes' user write into ANEX_STORAGE_DIR."
        why = error.message if isinstance(error, AnexError) else type(error).__name__
        yield broken("store", f"{where} fails: {why}", remedy)
        return
    if same and gone:
        yield ok("store", f"{where} of {settings.ANEX_REGION} writes, reads, lists and deletes")
    else:
        yield broken("store", f"{where} does not give back what it took", "Use one that is consistent after writes.")


def _is_foreign(folder: Path) -> bool:
    """Whether root would leave files there that its owner could not write to."""
    return os.geteuid() == 0 and folder.exists() and folder.stat().st_uid != 0


def disk() -> Iterator[Finding]:
    """Room where objects lie, or where this process may write."""
    named = Path(settings.ANEX_STORAGE_DIR)
    folder = next((each for each in (named, *named.parents) if each.exists()), Path("/"))
    usage = shutil.disk_usage(folder)
    told = f"{usage.free / 2**30:.1f} GiB of {usage.total / 2**30:.1f} GiB are free"
    if usage.free < _FULL_BYTES:
        yield broken("disk", told, "Make room: uploads and results are about to fail.")
    elif usage.free < min(_LOW_BYTES, usage.total * _LOW_SHARE):
        yield warning("disk", told, "Make room, or let objects go to a bucket (ANEX_S3_BUCKET).")
    else:
        yield ok("disk", told)
