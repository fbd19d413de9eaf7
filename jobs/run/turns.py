"""Whose media is fetched when: few rows of a job at a time, so that hosts that dawdle hold up their own job alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

ROWS_OF_A_JOB = 4


@dataclass(slots=True)
class _Job:
    """`users` fetch or wait for it; `waiting` of them wait."""

    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(ROWS_OF_A_JOB))
    users: int = 0
    waiting: int = 0


class Turns:
    """Rows take turns by job, in the order they come. Used by one event loop."""

    def __init__(self) -> None:
        self._jobs: dict[UUID, _Job] = {}

    @asynccontextmanager
    async def taken(self, job_id: UUID) -> AsyncIterator[None]:
        """One of the job's turns, for as long as a row's media is fetched."""
        job = self._jobs.setdefault(job_id, _Job())
        job.users += 1
        job.waiting += 1
        try:
            try:
                await job.slots.acquire()
            finally:
                job.waiting -= 1
            try:
                yield
            finally:
                job.slots.release()
        finally:
            job.users -= 1
            if not job.users:
                del self._jobs[job_id]

    async def reached(self, job_id: UUID) -> None:
        """Wait behind the rows of the job that wait for a turn; at once where none does."""
        job = self._jobs.get(job_id)
        if job is not None and job.slots.locked():
            async with self.taken(job_id):
                pass

    def held_up(self) -> set[UUID]:
        """The jobs that have more rows at hand than turns."""
        return {job_id for job_id, job in self._jobs.items() if job.waiting}
