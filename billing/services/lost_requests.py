"""Holds of realtime requests that nobody will settle: their process was killed, or their time is over."""

import logging
from datetime import datetime

from django.db import connection

from billing import requests

log = logging.getLogger(__name__)


def settle(now: datetime) -> int:
    """End them at nothing, as lost, and free their slots; returns how many. Web processes do the same among themselves.

    The time is the database's, by which processes renew themselves, and not `now`.
    """
    with connection.cursor() as cursor:
        cursor.execute(requests.REAP, [requests.LEASE_S])
        lost = [source for (source,) in cursor.fetchall()]
    if lost:
        log.warning("%d requests were lost and are not charged: %s", len(lost), ", ".join(lost[:20]))
    return len(lost)
