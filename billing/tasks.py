"""Celery's part: what time alone does to money."""

from collections.abc import Callable
from datetime import datetime

from celery import shared_task

from anex.core import clock, sweeps
from billing.services import auto_topups, balance_alerts, grants, key_alerts, lost_requests, request_keys, topups

# Automatic top-ups before the alerts: what they mend is nothing to tell.
SWEEPS: tuple[Callable[[datetime], object], ...] = (
    lost_requests.settle,
    grants.expire_due,
    auto_topups.run,
    topups.close_stale,
    request_keys.forget,
    balance_alerts.watch,
    key_alerts.watch,
)


@shared_task(name="billing.sweep")
def sweep() -> None:
    """Once a minute: lost requests, ended grants, automatic top-ups, what is no longer used, what to tell by e-mail."""
    sweeps.run(SWEEPS, clock.now())
