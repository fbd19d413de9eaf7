"""Celery's part: the doorbell of the pump, the pump's start and stop with its worker, and the periodic sweeps."""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutdown
from django.conf import settings

from anex.core import clock
from jobs.run.pump import Pump
from jobs.services import erasing, retention, sweeps

log = logging.getLogger(__name__)

SWEEPS: tuple[Callable[[datetime], int], ...] = (
    sweeps.cancel_unapproved,
    sweeps.forget_workers,
    erasing.erase_due,
    erasing.look_again,
    retention.expire_inputs,
    retention.discard_unfinished,
)

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
    """Once a minute: what time alone ends. A step that fails is tried again by the next sweep and stops no other."""
    now = clock.now()
    for step in SWEEPS:
        try:
            step(now)
        except Exception:
            log.exception("%s failed; the next sweep tries again", step.__name__)
