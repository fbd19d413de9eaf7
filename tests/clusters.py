"""A database cluster with every migration applied, made once and copied from then on: to migrate takes ten seconds.

It lies in var/tests until a migration, a requirement or the settings change.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import psycopg

from anex.supervisor.postgres import Postgres

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "var" / "tests"
DATABASE: Final = "anex"
# A second one like it, which nobody is ever connected to: Postgres copies it for each process of the suite.
TEMPLATE: Final = "anex_template"
FAST: Final = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
_TELLING: Final = ("*/migrations/*.py", "anex/settings/*.py", "requirements*.txt")


def migrated(postgres: Postgres) -> None:
    """Give a server that has not been started yet the cluster, with the two databases in it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ready = FOLDER / f"cluster-{_version()}"
        if not ready.exists():
            _make(ready)
        postgres.state.mkdir(parents=True, exist_ok=True)
        _copy(ready, postgres.state)


def _version() -> str:
    digest = hashlib.sha256()
    for pattern in _TELLING:
        for path in sorted(ROOT.glob(pattern)):
            digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _make(ready: Path) -> None:
    for old in FOLDER.glob("cluster-*"):
        shutil.rmtree(old)
    with tempfile.TemporaryDirectory(prefix="anex-cluster-", dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        postgres = Postgres(Path(name) / "postgres", settings=FAST)
        postgres.start()
        postgres.create_database(DATABASE)
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "anex.settings.test",
            "DATABASE_URL": postgres.url(DATABASE),
            "REDIS_URL": "redis://127.0.0.1:1",  # asked for by the settings; nothing of it is used
        }
        command = [sys.executable, "-W", "ignore", "manage.py", "migrate", "-v", "0"]
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
        with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {TEMPLATE} TEMPLATE {DATABASE}")
        postgres.stop()
        unfinished = FOLDER / "unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        _copy(postgres.state, unfinished)
        unfinished.rename(ready)


def _copy(source: Path, target: Path) -> None:
    """With the owners: the server's user may be another one."""
    names = [str(source / name) for name in ("data", "password")]
    subprocess.run(["cp", "-a", "--reflink=auto", *names, str(target)], check=True)
