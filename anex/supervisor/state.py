"""What a run keeps under `var/`: the lock of the one supervisor, secrets, logs, and where its services are."""

import errno
import fcntl
import os
import secrets
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from anex.supervisor.process import StartError
from anex.supervisor.valkey import free_port


class State:
    """The directory of one installation; only one supervisor at a time may own it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.resolve()
        self.logs = self.directory / "logs"
        self._lock: IO[str] | None = None

    def take(self) -> None:
        """Own the directory until this process ends, however it ends; raises StartError when another does."""
        self.logs.mkdir(parents=True, exist_ok=True)
        lock = (self.directory / "supervisor.lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            pid = lock.read().strip() or "?"
            lock.close()
            raise StartError(
                f"The platform already runs in this folder (process {pid})."
                f" Stop it with Ctrl-C in its terminal, or with: kill {pid}"
            ) from error
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        self._lock = lock

    def release(self) -> None:
        """Let another supervisor have the directory."""
        if self._lock:
            self._lock.close()
            self._lock = None

    def secret(self, name: str) -> str:
        """A random secret made once and kept in a file only its owner can read."""
        path = self.directory / name
        if not path.exists() or not path.read_text():
            _write_private(path, secrets.token_urlsafe(48))
        return path.read_text()

    def port(self, name: str) -> tuple[int, int | None]:
        """A free loopback port, the same in every run where possible; and the former one where it is not."""
        path = self.directory / name
        text = path.read_text() if path.exists() else ""
        former = int(text) if text.isdigit() else None
        if former and _bind_error(former) is None:
            return former, None
        port = free_port()
        path.write_text(str(port))
        return port, former

    def publish(self, values: Mapping[str, str]) -> None:
        """Write `services.env`, by which another terminal's `manage.py` finds the running services."""
        lines = [f"{name}='{value}'\n" for name, value in values.items()]
        _write_private(self.directory / "services.env", "".join(lines))

    def withdraw(self) -> None:
        """Remove `services.env`: nothing runs any more."""
        (self.directory / "services.env").unlink(missing_ok=True)


def _write_private(path: Path, text: str) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.touch(mode=0o600)
    partial.write_text(text)
    partial.replace(path)


def require_free(port: int) -> None:
    """Raise StartError, naming another port, when the loopback port cannot be opened."""
    error = _bind_error(port)
    if error is None:
        return
    first = max(port + 1, 1024)
    other = next((near for near in range(first, min(first + 100, 65536)) if _bind_error(near) is None), 8000)
    why = "may only be opened by root" if error == errno.EACCES else "is already used by another program"
    raise StartError(f'Port {port} {why}. Choose another one, for example: make demo ARGS="--port {other}"')


def _bind_error(port: int) -> int | None:
    with socket.socket() as probe:
        # As the web server binds: connections of an earlier run that linger do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen(1)
        except OSError as error:
            return error.errno
    return None
