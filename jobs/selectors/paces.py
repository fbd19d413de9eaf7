"""How fast the jobs of a model went: measured once when a job ends, read when another is quoted."""

from jobs.lifecycle import Status
from jobs.models import Job
from jobs.pace import Pace

RECENT_JOBS = 5


def recent(*, model_id: str, region: str) -> list[Pace]:
    """The paces of a model's last finished jobs in a region; a job that was ever paused has none."""
    measured = Job.objects.filter(
        model_id=model_id, region=region, status=Status.DONE, tokens_per_second__isnull=False
    ).order_by("-finished_at")[:RECENT_JOBS]
    return [
        Pace(job.startup_seconds or 0.0, job.tokens_per_second or 0.0, job.tokens_per_row or 0.0) for job in measured
    ]
