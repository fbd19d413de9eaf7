"""An organization's jobs at a glance: what waits, what moves, what ended last."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from jobs.lifecycle import TERMINAL, Status
from jobs.models import Job
from jobs.selectors import jobs
from jobs.selectors.jobs import Progress

SHOWN: Final = 5
MOST_WAITING: Final = 10
_MOVING: Final = [status for status in Status if status not in TERMINAL and status != Status.COST_READY]


@dataclass(frozen=True, slots=True)
class Overview:
    """What waits for an approval, the soonest to lapse first; of what moves and what ended the newest."""

    waiting: list[Job]
    waiting_more: int
    moving: list[tuple[Job, Progress | None]]
    moving_more: int
    ended: list[Job]

    @property
    def any_job(self) -> bool:
        """Whether the organization ever had one."""
        return bool(self.waiting or self.moving or self.ended)


def overview(organization_id: UUID) -> Overview:
    """In as many queries whatever there is."""
    mine = Job.objects.filter(organization_id=organization_id)
    moving = list(mine.filter(status__in=_MOVING).order_by("-created_at")[:SHOWN])
    ended = mine.filter(finished_at__isnull=False).order_by("-finished_at")[:SHOWN]
    more = mine.filter(status__in=_MOVING).count() - len(moving) if len(moving) == SHOWN else 0
    progress = jobs.progress_of(moving)
    waiting = jobs.awaiting_approval(organization_id)
    return Overview(
        waiting=waiting[:MOST_WAITING],
        waiting_more=max(0, len(waiting) - MOST_WAITING),
        moving=[(job, progress.get(job.pk)) for job in moving],
        moving_more=more,
        ended=list(ended),
    )
