"""Tells every worker that there is something to do. Only a hint: a pump looks by itself every two seconds."""

import logging
import threading
from typing import Final

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)

RING: Final = "jobs.ring"

_wanted = threading.Event()
_starting = threading.Lock()
_ringing: threading.Thread | None = None


def ring() -> None:
    """Ring once the current transaction has committed; a broker that is away is no error, and nobody waits for it."""
    transaction.on_commit(_send)


def _send() -> None:
    global _ringing
    with _starting:
        if _ringing is None or not _ringing.is_alive():
            _ringing = threading.Thread(target=_ring_on, name="doorbell", daemon=True)
            _ringing.start()
    _wanted.set()


def _ring_on() -> None:
    """As often as somebody wants it; who comes while it rings shares the next one."""
    while _wanted.wait():
        _wanted.clear()
        _broadcast()


def _broadcast() -> None:
    try:
        current_app.control.broadcast(RING)
    except OperationalError:
        log.info("the broker is away; the workers will look by themselves")
    except Exception:
        log.exception("the workers could not be rung; they will look by themselves")
