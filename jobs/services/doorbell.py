"""Tells the workers that there is something to do. Only a hint: a pump looks by itself every two seconds."""

import logging

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)


def ring() -> None:
    """Ring once the current transaction has committed; a broker that is away is no error."""
    transaction.on_commit(_send)


def _send() -> None:
    try:
        current_app.send_task("jobs.ring", retry=False, ignore_result=True)
    except OperationalError:
        log.info("the broker is away; the workers will look by themselves")
