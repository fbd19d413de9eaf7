"""Web servers of the platform on the tests' own database; a test that uses one needs real transactions."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from django.db import connection

from anex.core.process import die_with_parent
from anex.settings.base import BASE_DIR
from anex.supervisor.valkey import free_port
from tests.stack import accepts, send


class Web:
    """A web process with everything it logs in a file."""

    def __init__(self, log: Path, *, host: str = "127.0.0.1", environment: Mapping[str, str] | None = None) -> None:
        self.log, self.port = log, free_port()
        self.url = f"http://{host}:{self.port}"
        tests = connection.settings_dict["NAME"]
        address = urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{tests}"))
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "anex.serve", "--port", str(self.port)],
                cwd=BASE_DIR,
                env={
                    **os.environ,
                    "DJANGO_SETTINGS_MODULE": "anex.settings.test",
                    "DATABASE_URL": address,
                    "ANEX_LOG_LEVEL": "DEBUG",
                    "ANEX_PUBLIC_URL": self.url,
                    **(environment or {}),
                },
                stdout=output,
                stderr=output,
                preexec_fn=die_with_parent(signal.SIGKILL),
            )

    def wait(self) -> None:
        """Until it listens."""
        deadline = time.monotonic() + 60
        while not accepts(self.port):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        """Status and body."""
        return send(f"http://127.0.0.1:{self.port}{path}", "GET", headers=headers)

    def status(self, header: str, path: str = "/batch/v1/jobs/nothing") -> int:
        """The status for an `Authorization` header."""
        return self.get(path, Authorization=header)[0]

    def stop(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()
