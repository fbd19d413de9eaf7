"""Celery's part: what time alone does to money."""

from celery import shared_task

from anex.core import clock
from billing.services import auto_topups, grants, topups


@shared_task(name="billing.sweep")
def sweep() -> None:
    """Once a minute: grants whose end has come, automatic top-ups, payment pages that nobody used."""
    now = clock.now()
    grants.expire_due(now)
    auto_topups.run(now)
    topups.close_stale(now)
