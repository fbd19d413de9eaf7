"""Starts and watches one `vllm serve` on a GPU host, and keeps its row in the registry while it is healthy.

Run by `manage.py engine` in the foreground, and by a worker of one model beside its pump; no other process imports it.
"""

import contextlib
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass

from django import db

from anex.core import actors, clock
from anex.core.errors import Unavailable
from anex.core.process import die_with_parent
from anex.core.variables import variables
from inference.backends import registry
from inference.engines import launch as launching
from inference.engines.launch import Launch

logger = logging.getLogger(__name__)

ACTOR = actors.system("vllm")
_BUSY = re.compile(rb"^vllm:num_requests_(?:running|waiting)(?:\{[^}]*\})? ([0-9.eE+]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds: between looks, of silence before a restart, of draining, of ending.

    A restart waits `restart_s`, doubled for each one in a row up to `longest_restart_s`; a server that was healthy for
    `settled_s` starts the row anew.
    """

    look_s: float = 2.0
    silence_s: float = 60.0
    drain_s: float = 60.0
    end_s: float = 20.0
    restart_s: float = 1.0
    longest_restart_s: float = 60.0
    settled_s: float = 600.0


class Vllm:
    """One watched server; `run` returns after `stop` was set and the server has gone."""

    def __init__(
        self, launch: Launch, *, stop: threading.Event, pace: Pace | None = None, is_workers: bool = False
    ) -> None:
        """Rows of jobs come to a worker's own server from that worker alone.

        Raises InvalidRequest or Unavailable where the server could not be started or registered."""
        launching.check(launch, variables)
        registry.check(
            base_url=launch.base_url,
            region=launch.region,
            credential_env=launch.credential_env,
            concurrency=launch.concurrency,
        )
        executable = shutil.which("vllm")
        if executable is None:
            raise Unavailable("There is no vllm on this host's PATH: install it in this environment first.")
        self._launch = launch
        self._command = launching.command(executable, launch)
        self._pace = pace or Pace()
        self._stop = stop
        self._is_workers = is_workers
        self.backend_id: int | None = None
        self._version = ""

    def run(self) -> None:
        """Keep the server running until `stop` is set; then withdraw it, let it finish, and end it."""
        failures = 0
        while not self._stop.is_set():
            child = self._start()
            try:
                healthy_s = self._watch(child)
                ended = _ending(child.poll())
            finally:
                self._withdraw()
                if self._stop.is_set():
                    self._drain(child)
                self._end(child)
            failures = 1 if (healthy_s or 0.0) >= self._pace.settled_s else failures + 1
            wait_s = min(self._pace.longest_restart_s, self._pace.restart_s * 2.0 ** (failures - 1))
            if not self._stop.is_set():
                self._tell(ended, healthy_s, wait_s)
                self._stop.wait(wait_s)

    def _tell(self, ended: str, healthy_s: float | None, wait_s: float) -> None:
        when = "before it ever answered" if healthy_s is None else f"after {healthy_s:.0f} s of service"
        logger.warning("vLLM of %s %s %s; next start in %.0f s", self._launch.model_id, ended, when, wait_s)

    def _start(self) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            self._command,
            env=launching.environment(self._launch, variables),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGTERM),
        )
        logger.info("started vLLM of %s as process %s", self._launch.model_id, child.pid)
        return child

    def _watch(self, child: subprocess.Popen[bytes]) -> float | None:
        """Look after a child until it ends, falls silent or is to stop; the seconds since it was first healthy."""
        first: float | None = None
        deadline = clock.monotonic() + self._launch.ready_within_s
        while child.poll() is None and clock.monotonic() < deadline:
            if self._get("/health") is not None:
                deadline = clock.monotonic() + self._pace.silence_s
                if first is None:
                    first = clock.monotonic()
                    self._version = self._read_version()
                self._announce()
            if self._stop.wait(self._pace.look_s):
                break
        return clock.monotonic() - first if first is not None else None

    def _announce(self) -> None:
        """Renew the row or register it; a database that is away is tried again at the next look."""
        try:
            db.close_old_connections()
            if self.backend_id is None or not registry.renew(backend_id=self.backend_id):
                self.backend_id = registry.register(
                    model_id=self._launch.model_id,
                    base_url=self._launch.base_url,
                    served_name=self._launch.model_id,
                    region=self._launch.region,
                    credential_env=self._launch.credential_env,
                    concurrency=self._launch.concurrency,
                    version=self._version,
                    is_workers=self._is_workers,
                    actor=ACTOR,
                )
        except db.Error:
            logger.warning("the registry cannot be reached", exc_info=True)

    def _withdraw(self) -> None:
        backend_id, self.backend_id = self.backend_id, None
        if backend_id is None:
            return
        try:
            db.close_old_connections()
            registry.withdraw(backend_id=backend_id, actor=ACTOR)
        except db.Error:
            logger.warning("the server is not withdrawn; its row expires by itself", exc_info=True)

    def _drain(self, child: subprocess.Popen[bytes]) -> None:
        """Wait until no request has been in work for two looks in a row."""
        deadline, idle = clock.monotonic() + self._pace.drain_s, 0
        while idle < 2 and child.poll() is None and clock.monotonic() < deadline:
            metrics = self._get("/metrics")
            busy = sum(float(count) for count in _BUSY.findall(metrics or b""))
            idle = 0 if busy else idle + 1
            time.sleep(self._pace.look_s)

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        """End the child and every process it started."""
        if child.poll() is None:
            child.terminate()
        try:
            child.wait(self._pace.end_s)
        except subprocess.TimeoutExpired:
            logger.warning("vLLM did not end in %.0f s and is killed", self._pace.end_s)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()

    def _read_version(self) -> str:
        try:
            version = json.loads(self._get("/version") or b"{}").get("version", "")
        except (ValueError, AttributeError):
            return ""
        return str(version)[:64]

    def _get(self, path: str) -> bytes | None:
        """The body of a 200, None for anything else."""
        try:
            with urllib.request.urlopen(self._launch.origin + path, timeout=5) as response:  # noqa: S310
                body: bytes = response.read()
                return body
        except (OSError, urllib.error.URLError, ValueError):
            return None


def _ending(status: int | None) -> str:
    if status is None:
        return "fell silent and was ended"
    return f"ended with exit status {status}" if status >= 0 else f"was killed by signal {-status}"
