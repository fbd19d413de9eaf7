"""Celery's part: what time alone does to money."""

from celery import shared_task

from anex.core import clock
from billing.services import grants


@shared_task(name="billing.sweep")
def sweep() -> None:
    """Once a minute: grants whose end has come."""
    grants.expire_due(clock.now())
