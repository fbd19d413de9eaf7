"""Celery's part: e-mails that wait to be sent."""

from celery import shared_task

from accounts.services import alerts
from anex.core import clock, sweeps


@shared_task(name="accounts.sweep")
def sweep() -> None:
    """Once a minute: alerts that are due, and the end of those that nobody needs to look up any more."""
    sweeps.run((alerts.send_due, alerts.forget), clock.now())
