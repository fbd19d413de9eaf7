"""Celery's part: the doorbell, the start and stop of the pump and of the webhooks with their worker, and the sweeps.

A worker of the queue `inference.<model>` starts the model's server too, and runs rows of that model only.
"""

from collections.abc import Callable, Collection
from datetime import datetime
from typing import TYPE_CHECKING, Any

from celery import shared_task
from celery.signals import celeryd_after_setup, worker_shutdown
from celery.worker.control import control_command
from django.conf import settings

from accounts.services import idempotency
from anex.core import clock, garbage, patience
from anex.core import sweeps as sweeping
from anex.core.errors import AnexError, InvalidRequest
from jobs.run.deliverer import Deliverer
from jobs.run.pump import Pump
from jobs.services import batch_approvals, batches, deliveries, erasing, media, retention, sweeps, uploads
from jobs.services.doorbell import RING

if TYPE_CHECKING:
    from jobs.run.engine import Engine

MODEL_QUEUE = "inference."

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
_engine: "Engine | None" = None


def model_of(queues: Collection[str]) -> str | None:
    """The model whose rows alone a worker of these queues runs; None for any other worker. Raises InvalidRequest."""
    models = [queue.removeprefix(MODEL_QUEUE) for queue in queues if queue.startswith(MODEL_QUEUE)]
    if models and len(queues) > 1:
        raise InvalidRequest(f"A worker that takes {MODEL_QUEUE}{models[0]} takes no other queue.")
    return models[0] if models else None


@celeryd_after_setup.connect
def start_work(instance: Any, **_: Any) -> None:
    """A worker looks for work by itself, and before it has reached the broker, which only rings.

    What a model's worker cannot be started with ends it before it takes anything.
    """
    global _pump, _deliverer, _engine
    patience.choose(patience.WORKER)
    try:
        model_id = model_of(instance.app.amqp.queues.consume_from)
        if model_id is not None:
            from jobs.run.engine import Engine  # other workers never do

            _engine = Engine(model_id, region=settings.ANEX_REGION, options=settings.ANEX_ENGINE_OPTIONS)
    except AnexError as error:
        raise SystemExit(error.message) from error
    garbage.spare()
    if _engine:
        _engine.start()
    _pump = Pump(region=settings.ANEX_REGION, lease_seconds=settings.ANEX_LEASE_SECONDS, own=_engine)
    _pump.start()
    if not _engine:
        _deliverer = Deliverer(region=settings.ANEX_REGION)
        _deliverer.start()


@worker_shutdown.connect
def stop_work(**_: Any) -> None:
    """Rows and webhooks in flight finish, the rest goes back; then the worker's own server ends."""
    if _deliverer:
        _deliverer.stop_soon()
    if _pump:
        _pump.stop()
    if _deliverer:
        _deliverer.wait()
    if _engine:
        _engine.stop()


@control_command(name=RING)
def ring(state: Any) -> None:
    """Wake what looks for work in this worker, as in every other; a lost, doubled or late ring changes nothing."""
    if _pump:
        _pump.ring()
    if _deliverer:
        _deliverer.ring()


@shared_task(name="jobs.sweep")
def sweep() -> None:
    """Once a minute: what time alone ends."""
    sweeping.run(SWEEPS, clock.now())


@shared_task(name="jobs.sweep_media")
def sweep_media() -> None:
    """Every half hour, since it looks at every file there is: uploaded pictures and clips that are past their time."""
    sweeping.run((media.forget,), clock.now())
