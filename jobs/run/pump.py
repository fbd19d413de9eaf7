"""The worker's engine: one thread with an event loop that claims chunks and runs them.

It looks at Postgres every two seconds and whenever the doorbell rings; nothing depends on a message arriving.
"""

import asyncio
import dataclasses
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, Protocol
from uuid import UUID

import uvloop
from django.db import Error

from anex.core import clock, log_ids, tracing
from anex.core.errors import Unavailable
from inference import catalogue
from inference.backends import registry
from inference.backends.client import Client
from inference.backends.registry import Server
from jobs.models import Job
from jobs.run import claims
from jobs.run.at_hand import AtHand
from jobs.run.claims import Claim, Interrupted
from jobs.run.control import finish_chunk, give_up_or_release, input_gone, repair, run_control
from jobs.run.copier import Copier
from jobs.run.lease import Lease
from jobs.run.pressure import Pressure
from jobs.run.rows import ChunkRun
from jobs.run.threads import Threads
from jobs.run.window import Window
from jobs.storage.interface import ObjectChanged, ObjectMissing

log = logging.getLogger(__name__)

POLL_SECONDS = 2.0  # or half a lease, where that is less
REST_SECONDS = 5.0  # for a model whose servers did not answer
REPAIR_SECONDS = 10.0
CONTROL_SLOTS = 2
THREADS = 8
DRAIN_SECONDS = 30.0
RUNNABLE = {"in_progress", "estimating"}


Ask = Callable[[], list[Claim]]


class _Seen(NamedTuple):
    """Those of this worker's jobs whose rows may run, the model servers, the other workers at each model, and what was
    claimed besides."""

    jobs: set[UUID]
    servers: list[Server]
    workers: dict[str, int]
    found: list[Claim]


class OwnServer(Protocol):
    """A model server that this process started; in the registry while it is healthy."""

    @property
    def backend_id(self) -> int | None: ...


class Pump:
    """Runs until stopped; `ring` wakes it. One per worker process. With an own server it sends rows there, and does
    nothing else."""

    def __init__(self, *, region: str, lease_seconds: float, own: OwnServer | None = None) -> None:
        self._region = region
        self._own = own
        self._lease_seconds = lease_seconds
        self._poll_seconds = min(POLL_SECONDS, lease_seconds / 2)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._bell = asyncio.Event()
        self._stopping = False
        self._windows: dict[str, Window] = {}
        self._resting: dict[str, float] = {}
        self._uncounted: dict[str, float] = {}
        self._runs: dict[asyncio.Task[None], ChunkRun] = {}
        self._controls: dict[asyncio.Task[None], Claim] = {}
        self._claiming = asyncio.Lock()  # one at a time, or a chunk that is not listed here yet is claimed again
        self._repair_at = 0.0
        self._thread = threading.Thread(target=self._run, name="pump")

    def start(self) -> None:
        """Begin in a thread of its own."""
        self._thread.start()

    def ring(self) -> None:
        """There may be something to do; callable from any thread."""
        if self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._bell.set)

    def stop(self) -> None:
        """Claim nothing more, let rows in flight finish, give the rest back; waits for it."""
        self._stopping = True
        self.ring()
        self._thread.join()

    def _run(self) -> None:
        self._threads = Threads(THREADS)
        self._copier = Copier(region=self._region, threads=self._threads, ended=self._bell.set)
        uvloop.run(self._main())
        self._copier.close()
        self._threads.close()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with Client() as self._client:
            watching = asyncio.create_task(Pressure(self._client, self._windows).watch())
            while not self._stopping:
                try:
                    lease = await self._threads.call(Lease, region=self._region, seconds=self._lease_seconds)
                except Exception as error:
                    known = isinstance(error, Error)
                    log.warning("no lease, the worker asks again: %s", type(error).__name__, exc_info=not known)
                    await asyncio.sleep(POLL_SECONDS)
                    continue
                await self._work(lease)
            watching.cancel()

    async def _work(self, lease: Lease) -> None:
        """One incarnation: until the lease lapses or the worker stops."""
        while lease.valid() and not self._stopping:
            self._bell.clear()
            try:
                await self._look(lease)
            except (Error, Unavailable) as error:
                log.warning("the database or the store is away: %s", type(error).__name__)
            except Exception:
                log.exception("a look for work failed; the next one may not")
            await self._wait()
        if self._stopping and lease.valid():
            await self._drain()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            await self._threads.call(lease.end)
        except Error as error:
            log.warning("worker %s could not sign off: %s", lease.epoch, type(error).__name__)

    async def _look(self, lease: Lease) -> None:
        await self._refresh(lease)
        await self._claim(lease)
        if self._own:
            return
        await self._copier.look(lease, lambda: lease.valid() and not self._stopping)
        if clock.monotonic() >= self._repair_at:
            self._repair_at = clock.monotonic() + REPAIR_SECONDS
            await self._threads.call(repair)

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._poll_seconds):
                await self._bell.wait()

    @property
    def _tasks(self) -> list[asyncio.Task[None]]:
        return [*self._runs, *self._controls, *self._copier.tasks]

    async def _drain(self) -> None:
        for run in self._runs.values():
            run.stopping = True
        for window in self._windows.values():
            window.look_again()
        if tasks := self._tasks:
            await asyncio.wait(tasks, timeout=DRAIN_SECONDS)

    async def _refresh(self, lease: Lease) -> None:
        """Stop what belongs to jobs that moved on or are paused, and take the present model servers.

        Workers that are at the same model share what its servers run at once.
        """
        runs = list(self._runs.values())
        async with self._claiming:
            ask = self._ask_control(lease, ["validate", "finalize"])
            seen = await self._threads.call(_see, lease, self._region, {run.claim.job_id for run in runs}, ask)
            self._begin_controls(seen.found, lease)
        for run in runs:
            run.stopping = run.stopping or run.claim.job_id not in seen.jobs
        known = [each for each in seen.servers if catalogue.get(each.model_id) and self._is_ours(each)]
        for model_id in {server.model_id for server in known} | set(self._windows):
            window = self._windows.setdefault(model_id, Window())
            workers = 1 if self._own else 1 + seen.workers.get(model_id, 0)
            window.update([_share_of(server, workers) for server in known if server.model_id == model_id])
        for run in self._runs.values():
            window = self._windows[run.claim.model_id]
            if not window.size and not run.stopping:
                log.warning("no server of %s is left; its chunks are given back", run.claim.model_id)
                run.stopping = True
                window.look_again()

    def _is_ours(self, server: Server) -> bool:
        return server.id == self._own.backend_id if self._own else not server.is_workers

    async def _claim(self, lease: Lease) -> None:
        for model_id, window in self._windows.items():
            if not window.size or clock.monotonic() < self._resting.get(model_id, 0.0):
                continue
            runs = [run for run in self._runs.values() if run.claim.model_id == model_id and not run.stopping]
            at_hand = AtHand(runs, window)
            while at_hand.wanting():
                async with self._claiming:
                    ask = self._ask(
                        lease,
                        kinds=["sample", "rows"],
                        models=[model_id],
                        limit=1,
                        passed_jobs=at_hand.passed_jobs(),
                        passed_organizations=at_hand.passed_organizations(),
                        least_share=at_hand.least_share(),
                    )
                    found = await self._threads.call(ask)
                    for claim in found:
                        at_hand.add(claim)
                        self._begin_run(claim, window, lease)
                if not found:
                    break

    def _ask_control(self, lease: Lease, kinds: list[str]) -> Ask:
        """What claims steps of these kinds, as many as there is room for."""
        room = 0 if self._own or self._stopping else CONTROL_SLOTS - len(self._controls)
        return self._ask(lease, kinds=kinds, models=[], limit=room) if room > 0 else list

    def _ask(self, lease: Lease, **wanted: Any) -> Ask:
        held = [*(run.claim.id for run in self._runs.values()), *(found.id for found in self._controls.values())]
        uncounted = [model_id for model_id, until in self._uncounted.items() if clock.monotonic() < until]
        return partial(claims.claim, lease, region=self._region, held=held, uncounted=uncounted, **wanted)

    def _begin_controls(self, found: list[Claim], lease: Lease) -> None:
        for claim in found:
            task = asyncio.create_task(self._run_control(claim, lease))
            self._controls[task] = claim
            task.add_done_callback(partial(self._end, self._controls))

    async def _run_control(self, found: Claim, lease: Lease) -> None:
        log_ids.begin(organization=found.organization_id, job=found.job_id)
        try:
            with _span(found):
                await self._threads.call(run_control, found, go_on=lambda: lease.valid() and not self._stopping)
        except (Unavailable, Interrupted, Error) as error:
            log.info("%s of job %s has to wait: %s", found.kind, found.job_id, type(error).__name__)
            if found.kind == "validate":  # files for other models are checked meanwhile
                self._uncounted[found.model_id] = clock.monotonic() + REST_SECONDS
            else:
                await self._rest()
            await self._give_back(claims.release, found)
        except Exception:
            log.exception("%s of job %s failed", found.kind, found.job_id)
            await self._rest()
            await self._give_back(give_up_or_release, found)

    def _end(self, tasks: dict[asyncio.Task[None], Any], task: asyncio.Task[None]) -> None:
        """Look again, also where a look was under way when the task ended."""
        tasks.pop(task, None)
        self._bell.set()

    async def _rest(self) -> None:
        if not self._stopping:
            await asyncio.sleep(REST_SECONDS)

    async def _give_back(self, release: Callable[..., None], found: Claim, **options: bool) -> None:
        """A chunk that could not be given back is claimed again by this worker: nothing of it runs any more."""
        try:
            await self._threads.call(release, found, **options)
        except (Error, Unavailable) as error:
            log.warning("chunk %s of job %s not given back: %s", found.index, found.job_id, type(error).__name__)

    def _begin_run(self, found: Claim, window: Window, lease: Lease) -> None:
        run = ChunkRun(
            found,
            client=self._client,
            window=window,
            threads=self._threads,
            trusted=lease.valid,
            share=lambda: len(self._runs),
            running_low=self._bell.set,
        )
        task = asyncio.create_task(self._run_chunk(run, lease))
        self._runs[task] = run
        task.add_done_callback(partial(self._end, self._runs))

    async def _run_chunk(self, run: ChunkRun, lease: Lease) -> None:
        log_ids.begin(organization=run.claim.organization_id, job=run.claim.job_id)
        try:
            with _span(run.claim):
                await run.run()
            if run.finished:
                await self._finish(run.claim, lease)
        except* Exception as failure:
            await self._run_failed(run.claim, failure)
        if run.server_lost:
            self._resting[run.claim.model_id] = clock.monotonic() + REST_SECONDS

    async def _finish(self, done: Claim, lease: Lease) -> None:
        """Move the job on; what ends it is begun at once, where nobody else is faster."""
        async with self._claiming:
            ask = self._ask_control(lease, ["finalize"]) if lease.valid() else list
            self._begin_controls(await self._threads.call(_finish, done, ask), lease)

    async def _run_failed(self, found: Claim, failure: ExceptionGroup[Exception]) -> None:
        if failure.subgroup((ObjectChanged, ObjectMissing)):
            await self._give_back(input_gone, found)
            return
        outage = failure.split((Error, Unavailable))[1] is None
        if outage:
            why = type(failure.exceptions[0]).__name__
            log.warning("chunk %s of job %s has to wait: %s", found.index, found.job_id, why)
        else:
            log.error("chunk %s of job %s failed", found.index, found.job_id, exc_info=failure)
        await self._rest()
        await self._give_back(claims.release, found, blameless=outage)


def _span(found: Claim) -> tracing.Span:
    """Of a step of a job, below what made the job."""
    facts: dict[str, tracing.Fact] = {
        "anex.model": found.model_id,
        "anex.chunk": found.index,
        "anex.rows": found.row_count,
        "anex.claims": found.claims,
    }
    return tracing.span(found.kind, kind="consumer", parent=found.traceparent, facts=facts)


def _share_of(server: Server, workers: int) -> Server:
    return dataclasses.replace(server, concurrency=-(-server.concurrency // workers))


def _see(lease: Lease, region: str, job_ids: set[UUID], ask: Ask) -> _Seen:
    jobs = Job.objects.filter(pk__in=job_ids, status__in=RUNNABLE, paused=False).values_list("pk", flat=True)
    return _Seen(set(jobs), registry.live(region), claims.workers_at_models(lease), ask())


def _finish(done: Claim, ask: Ask) -> list[Claim]:
    return ask() if finish_chunk(done) else []
