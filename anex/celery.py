"""The Celery application: a doorbell for the workers' pumps and the clock of the sweeps."""

import logging
import os
import signal
from types import FrameType
from typing import Any

from celery import Celery
from celery.signals import beat_init, before_task_publish, celeryd_init, setup_logging, task_postrun, task_prerun
from django.conf import settings

from anex.core import log_ids, tracing

log = logging.getLogger(__name__)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "anex.settings.development")

app = Celery("anex")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


_spans: dict[str, tracing.Span] = {}


@setup_logging.connect
def keep_logging(**_: Any) -> None:
    """Workers and the scheduler write their lines as the settings say. Celery by itself drops those below WARNING."""


@celeryd_init.connect
def begin_worker(**_: Any) -> None:
    """Before anything of a worker is there that could be traced."""
    tracing.begin("anex-worker", region=settings.ANEX_REGION)


@before_task_publish.connect
def publish_task(headers: dict[str, Any], **_: Any) -> None:
    """A task goes on with the trace of whoever asks for it."""
    headers.update(tracing.headers())


@task_prerun.connect
def begin_task(task_id: str, task: Any, **_: Any) -> None:
    """Lines of the task tell its id."""
    log_ids.begin(task=task_id)
    parent = task.request.get(tracing.PARENT) or ""
    _spans[task_id] = tracing.span(task.name, kind="consumer", parent=parent)


@task_postrun.connect
def end_task(task_id: str, state: str | None = None, **_: Any) -> None:
    """The thread goes on with other tasks."""
    with _spans.pop(task_id, tracing.NOTHING) as span:
        if state != "SUCCESS":
            span.fail(str(state))
    log_ids.end()


@beat_init.connect
def end_once(**_: Any) -> None:
    """Told again to end, the scheduler goes on writing down its schedule."""
    end = signal.getsignal(signal.SIGTERM)
    if not callable(end):
        return

    def end_first(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end(number, frame)

    signal.signal(signal.SIGTERM, end_first)
    log.info("The scheduler is ready.")
