"""A worker's right to hold chunks: one heartbeat row, renewed by a thread with its own connection.

The worker trusts the lease only by its own monotonic clock, and for less time than others wait before they take
its chunks. A lease that lapsed once is lost for good: the process goes on as a new incarnation.
"""

import logging
import os
import socket
import threading

from django.db import Error, close_old_connections, connection

from anex.core import clock
from jobs.models import Worker

log = logging.getLogger(__name__)

SAFETY = 0.8  # of the lease: the part of it during which this process still trusts it


class Lease:
    """One incarnation of this worker; `epoch` marks the chunks it claims."""

    def __init__(self, *, region: str, seconds: float) -> None:
        self.seconds = seconds
        asked_at = clock.monotonic()
        self.epoch = _insert(region)
        self._trusted_until = asked_at + seconds * SAFETY
        self._held_since = asked_at
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._renew_forever, name=f"lease-{self.epoch}", daemon=True)
        self._thread.start()

    def valid(self) -> bool:
        """Whether chunks may be dispatched from."""
        return clock.monotonic() < self._trusted_until

    def may_reclaim(self) -> bool:
        """Whether others' silence proves anything: only after a whole lease of unbroken contact."""
        return self.valid() and clock.monotonic() - self._held_since >= self.seconds

    def end(self) -> None:
        """Give everything back at once: chunks of a worker that is no longer listed are free."""
        self._stop.set()
        self._thread.join(timeout=self.seconds)
        Worker.objects.filter(pk=self.epoch).delete()

    def _renew_forever(self) -> None:
        while not self._stop.wait(self.seconds / 4):
            asked_at = clock.monotonic()
            if asked_at >= self._trusted_until:
                log.warning("lease of worker %s lapsed", self.epoch)
                break
            try:
                close_old_connections()
                if not self._renew():
                    self._trusted_until = 0.0
                    log.warning("worker %s is no longer listed", self.epoch)
                    break
                self._trusted_until = asked_at + self.seconds * SAFETY
            except Error as error:
                log.warning("lease of worker %s not renewed: %s", self.epoch, type(error).__name__)
                connection.close()
        connection.close()

    def _renew(self) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE jobs_worker SET heartbeat_at = now() WHERE id = %s", [self.epoch])
            return bool(cursor.rowcount == 1)


def _insert(region: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO jobs_worker (name, region, started_at, heartbeat_at)"
            " VALUES (%s, %s, now(), now()) RETURNING id",
            [f"{socket.gethostname()}:{os.getpid()}"[:120], region],
        )
        row = cursor.fetchone()
    return int(row[0])
