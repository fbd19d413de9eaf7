"""Tells every worker that there is something to do. Only a hint: a pump looks by itself every two seconds."""

import logging
from typing import Final

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)

RING: Final = "jobs.ring"


def ring() -> None:
    """Ring once the current transaction has committed; a broker that is away is no error."""
    transaction.on_commit(_send)


def _send() -> None:
    try:
        current_app.control.broadcast(RING)
    except OperationalError:
        log.info("the broker is away; the workers will look by themselves")
