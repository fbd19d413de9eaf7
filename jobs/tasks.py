"""Celery's part: the doorbell of the pump, the pump's start and stop with its worker, and the periodic sweeps."""

from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutdown
from django.conf import settings

from anex.core import clock
from jobs.run.pump import Pump
from jobs.services import retention, sweeps

_pump: Pump | None = None


@worker_ready.connect
def start_pump(**_: Any) -> None:
    """A worker that is ready starts to look for work by itself."""
    global _pump
    _pump = Pump(region=settings.ANEX_REGION, lease_seconds=settings.ANEX_LEASE_SECONDS)
    _pump.start()


@worker_shutdown.connect
def stop_pump(**_: Any) -> None:
    """Rows in flight finish, the rest goes back."""
    if _pump:
        _pump.stop()


@shared_task(name="jobs.ring")
def ring() -> None:
    """Wake this worker's pump; a lost, doubled or late message changes nothing."""
    if _pump:
        _pump.ring()


@shared_task(name="jobs.sweep")
def sweep() -> None:
    """Once a minute: unapproved jobs whose window closed, inputs whose time is over."""
    now = clock.now()
    sweeps.cancel_unapproved(now)
    retention.expire_inputs(now)


@shared_task(name="jobs.discard_unfinished")
def discard_unfinished() -> None:
    """Once an hour: what uploads and workers that died left half written."""
    retention.discard_unfinished(clock.now())
