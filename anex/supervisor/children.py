"""Child processes of one terminal: started in order, watched, started again when they die, stopped in reverse.

Each child leads a session of its own, so that Ctrl-C reaches the supervisor alone, and dies with it.
"""

import asyncio
import contextlib
import os
import re
import signal
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from anex.core.process import die_with_parent
from anex.supervisor.process import StartError

_RESTARTS = 5
_RESTART_WINDOW_S = 60.0
_LAST_LINES = 60
_ERROR = re.compile(r"[\w.]*(Error|Exception|Configured)\b.*:")
_LOG_LIMIT_BYTES = 10 * 1024 * 1024

T = TypeVar("T")
Ready = Callable[[int], Awaitable[bool]]
Report = Callable[[str], None]


@dataclass(frozen=True)
class Service:
    """One process: how it is run, when it is ready (asked with its process id), how it is stopped.

    `death_signal` is what the kernel sends when the supervisor is killed; `options` go to Popen.
    """

    name: str
    command: Callable[[], list[str]]
    ready: Ready
    environment: Mapping[str, str] | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    death_signal: signal.Signals = signal.SIGKILL
    grace_s: float = 10.0
    start_timeout_s: float = 60.0
    options: Mapping[str, Any] = field(default_factory=dict)


class Supervisor:
    """Owns the children of one run; `ended` is set when it must end, by a signal or a child that keeps dying."""

    def __init__(self, logs: Path, *, report: Report) -> None:
        self.logs = logs
        self.report = report
        self.ended = asyncio.Event()
        self.failure = ""
        self._groups: list[tuple[Service, ...]] = []
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._watches: set[asyncio.Task[None]] = set()
        self._hurry = asyncio.Event()

    @property
    def names(self) -> list[str]:
        """The services that run, in the order of their start."""
        return [service.name for group in self._groups for service in group]

    def catch_signals(self) -> None:
        """End the run on Ctrl-C, SIGTERM and (unless started with nohup) SIGHUP; a second one ends it at once."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                loop.add_signal_handler(number, self._on_signal)

    def _on_signal(self) -> None:
        if self.ended.is_set():
            self._hurry.set()
        self.ended.set()

    async def until_ended(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Run `work` to its end and return its result, or drop it when the run must end (then None)."""
        task = asyncio.create_task(work)
        end = asyncio.create_task(self.ended.wait())
        try:
            await asyncio.wait({task, end}, return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            await _drop(task, end)

    async def start(self, *services: Service) -> None:
        """Start services together and wait until each is ready; they will be stopped together, too."""
        self._groups.append(services)
        await together(*[self._start(service) for service in services])
        self._watches.update(asyncio.create_task(self._watch(service)) for service in services)

    async def _start(self, service: Service) -> None:
        process = await self._spawn(service)
        deadline = time.monotonic() + service.start_timeout_s
        while not await service.ready(process.pid):
            if process.returncode is not None:
                raise StartError(f"The {service.name} ended while it started. {self._last_words(service.name)}")
            if time.monotonic() > deadline:
                waited = f"The {service.name} was not ready in {service.start_timeout_s:.0f} s."
                raise StartError(f"{waited} {self._last_words(service.name)}")
            await asyncio.sleep(0.05)

    async def _spawn(self, service: Service) -> asyncio.subprocess.Process:
        with self._log(service.name).open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *service.command(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=None if service.environment is None else dict(service.environment),
                start_new_session=True,
                preexec_fn=die_with_parent(service.death_signal),
                **service.options,
            )
        self._processes[service.name] = process
        return process

    async def run(self, name: str, command: list[str], environment: Mapping[str, str]) -> str:
        """Run a command to its end; its output, which is logged only when the command fails (StartError)."""
        with self._log(name).open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=dict(environment),
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGKILL),
            )
            try:
                output, _ = await process.communicate()
            finally:
                _kill_session(process.pid)
            if process.returncode:
                log.write(output)
        if process.returncode:
            raise StartError(f"The step '{name}' failed. {self._last_words(name)}")
        return output.decode()

    async def _watch(self, service: Service) -> None:
        """Start a service again when it ends by itself; a service that keeps ending ends the run."""
        deaths: deque[float] = deque(maxlen=_RESTARTS)
        while True:
            status = await self._processes[service.name].wait()
            if self.ended.is_set():
                return
            _kill_session(self._processes[service.name].pid)
            now = time.monotonic()
            if len(deaths) == _RESTARTS and now - deaths[0] < _RESTART_WINDOW_S:
                self._fail(f"The {service.name} keeps ending. {self._last_words(service.name)}")
                return
            deaths.append(now)
            self.report(f"The {service.name} ended (status {status}) and is started again.")
            try:
                await self._start(service)
            except (StartError, OSError) as error:
                self._fail(str(error))
                return

    def _fail(self, sentence: str) -> None:
        self.failure = sentence
        self.ended.set()

    async def stop(self) -> None:
        """Stop every child, the last started first."""
        self.ended.set()
        await _drop(*self._watches)
        while self._groups:
            await asyncio.gather(*[self._stop(service) for service in self._groups.pop()])

    async def _stop(self, service: Service) -> None:
        process = self._processes.pop(service.name, None)
        if process is None:
            return
        if process.returncode is None:
            process.send_signal(service.stop_signal)
            gone = asyncio.create_task(process.wait())
            hurry = asyncio.create_task(self._hurry.wait())
            await asyncio.wait({gone, hurry}, timeout=service.grace_s, return_when=asyncio.FIRST_COMPLETED)
            hurry.cancel()
        _kill_session(process.pid)
        await process.wait()

    def _last_words(self, name: str) -> str:
        """A sentence with the last error of a log, and where the rest is."""
        path = self._log(name)
        lines = [line.strip() for line in path.read_text(errors="replace").splitlines()[-_LAST_LINES:]]
        errors = [line for line in lines if _ERROR.match(line)]
        words = [line for line in lines if any(character.isalpha() for character in line)]
        if not words:
            return f"It said nothing; its log is {path}"
        return f"It said: {(errors or words)[-1]} (more in {path})"

    def _log(self, name: str) -> Path:
        """The log of a service; one that has grown large is put aside."""
        path = self.logs / f"{name.replace(' ', '-')}.log"
        if path.exists() and path.stat().st_size > _LOG_LIMIT_BYTES:
            path.replace(path.with_suffix(".old.log"))
        return path


async def together(*works: Coroutine[Any, Any, Any]) -> list[Any]:
    """The results of all; the first failure drops the others and is raised."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        await _drop(*tasks)


async def _drop(*tasks: asyncio.Task[Any]) -> None:
    """Cancel what still runs and wait until it has ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _kill_session(leader: int) -> None:
    """End what is left of a child's session, processes of its own included."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
