"""One look per process at what changed of all jobs that somebody watches, however many watch them.

It asks Postgres, which knows; nothing that moves a job has to tell anybody.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from anex.core.errors import Unavailable
from anex.core.threads import Threads
from jobs.selectors import changes

log = logging.getLogger(__name__)

EVERY_S: Final = 1.0

Listener = Callable[[UUID], None]


@dataclass(slots=True)
class _Seen:
    marks: changes.Marks
    part_id: int


@dataclass(eq=False, slots=True)
class Watch:
    """Who listens to which job. Looks as long as anybody does; a listener is called in the event loop, and at once."""

    every_s: float = EVERY_S
    _listeners: dict[UUID, set[Listener]] = field(default_factory=dict)
    _looking: asyncio.Task[None] | None = None
    _threads: Threads = field(default_factory=lambda: Threads(1, "watch"))

    def join(self, job_ids: Collection[UUID], listener: Listener) -> None:
        """Call `listener` with a job's id whenever that job changed."""
        for job_id in job_ids:
            self._listeners.setdefault(job_id, set()).add(listener)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())

    def leave(self, job_ids: Collection[UUID], listener: Listener) -> None:
        """Listen no more; the last one who leaves ends the looking."""
        for job_id in job_ids:
            listening = self._listeners.get(job_id, set())
            listening.discard(listener)
            if not listening:
                self._listeners.pop(job_id, None)
        if not self._listeners and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    async def _look(self) -> None:
        seen: _Seen | None = None
        while True:
            try:
                seen, changed = await self._threads.run(_compare, seen, list(self._listeners))
            except Unavailable:
                log.info("what changed of jobs cannot be read just now")
                changed = []
            for job_id in changed:
                for listener in list(self._listeners.get(job_id, ())):
                    listener(job_id)
            await asyncio.sleep(self.every_s)


def _compare(seen: _Seen | None, job_ids: Collection[UUID]) -> tuple[_Seen, list[UUID]]:
    """What is so now, and which jobs that were seen before differ from it."""
    marks = changes.marks(job_ids)
    if seen is None:
        return _Seen(marks, changes.newest_part()), []
    parts = changes.parts_after(seen.part_id)
    moved = [job_id for job_id, mark in marks.items() if seen.marks.get(job_id, mark) != mark or job_id in parts]
    return _Seen(marks, max(parts.values(), default=seen.part_id)), moved


WATCH: Final = Watch()
