"""The Celery application: a doorbell for the workers' pumps and the clock of the sweeps."""

import os
from typing import Any

from celery import Celery
from celery.signals import task_postrun, task_prerun

from anex.core import log_ids

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "anex.settings.development")

app = Celery("anex")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@task_prerun.connect
def begin_task(task_id: str, **_: Any) -> None:
    """Lines of the task tell its id."""
    log_ids.begin(task=task_id)


@task_postrun.connect
def end_task(**_: Any) -> None:
    """The thread goes on with other tasks."""
    log_ids.end()
