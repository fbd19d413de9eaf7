"""Celery's part: the doorbell, the start and stop of the pump and of the webhooks with their worker, and the sweeps."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutdown
from django.conf import settings

from accounts.services import idempotency
from anex.core import clock, garbage
from anex.core import sweeps as sweeping
from jobs.run.deliverer import Deliverer
from jobs.run.pump import Pump
from jobs.services import batch_approvals, batches, deliveries, erasing, retention, sweeps, uploads

SWEEPS: tuple[Callable[[datetime], int], ...] = (
    batches.expire,
    batch_approvals.approve_waiting,
    sweeps.cancel_unapproved,
    sweeps.forget_workers,
    erasing.erase_due,
    erasing.look_again,
    uploads.sweep,
    retention.expire_inputs,
    retention.discard_unfinished,
    deliveries.forget,
    idempotency.forget_expired,
)

_pump: Pump | None = None
_deliverer: Deliverer | None = None


@worker_ready.connect
def start_work(**_: Any) -> None:
    """A worker that is ready starts to look for work by itself."""
    global _pump, _deliverer
    garbage.spare()
    _pump = Pump(region=settings.ANEX_REGION, lease_seconds=settings.ANEX_LEASE_SECONDS)
    _pump.start()
    _deliverer = Deliverer(region=settings.ANEX_REGION)
    _deliverer.start()


@worker_shutdown.connect
def stop_work(**_: Any) -> None:
    """Rows and webhooks in flight finish, the rest goes back."""
    if _pump and _deliverer:
        _deliverer.stop_soon()
        _pump.stop()
        _deliverer.wait()


@shared_task(name="jobs.ring")
def ring() -> None:
    """Wake what looks for work in this worker; a lost, doubled or late message changes nothing."""
    if _pump and _deliverer:
        _pump.ring()
        _deliverer.ring()


@shared_task(name="jobs.sweep")
def sweep() -> None:
    """Once a minute: what time alone ends."""
    sweeping.run(SWEEPS, clock.now())
