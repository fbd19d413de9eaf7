"""Sends webhooks: one thread that claims and writes down, and a few that render and wait for receivers.

It looks at Postgres every two seconds and whenever the doorbell rings; nothing depends on a message arriving.
"""

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor

from django.db import InterfaceError, OperationalError, close_old_connections, connection

from anex.core import clock, log_ids, tracing
from jobs.run import deliveries
from jobs.run.deliveries import Claim, Outcome

log = logging.getLogger(__name__)

AWAY = (OperationalError, InterfaceError)
POLL_SECONDS = 2.0
THREADS = 24


class Deliverer:
    """Runs until stopped; `ring` wakes it. One per worker process."""

    def __init__(self, *, region: str) -> None:
        self._region = region
        self._bell = threading.Event()
        self._stopping = False
        self._flying: dict[Future[Outcome | None], Claim] = {}
        self._thread = threading.Thread(target=self._run, name="deliverer")

    def start(self) -> None:
        """Begin in a thread of its own."""
        self._thread.start()

    def ring(self) -> None:
        """There may be something to send; callable from any thread."""
        self._bell.set()

    def stop_soon(self) -> None:
        """Claim nothing more; requests under way go on."""
        self._stopping = True
        self.ring()

    def wait(self) -> None:
        """Until the requests under way have ended and are written down."""
        self._thread.join()

    def _run(self) -> None:
        with ThreadPoolExecutor(THREADS, thread_name_prefix="webhook") as pool:
            while not self._stopping:
                self._turn(pool)
                self._bell.wait(POLL_SECONDS)
                self._bell.clear()
        self._turn(None)
        connection.close()

    def _turn(self, pool: ThreadPoolExecutor | None) -> None:
        try:
            close_old_connections()
            self._settle_landed()
            if pool:
                self._send_due(pool)
        except AWAY as error:
            log.warning("the database is away: %s", type(error).__name__)
            connection.close()
        except Exception:
            log.exception("a look for webhooks failed; the next one may not")

    def _settle_landed(self) -> None:
        """What cannot be written down now is tried again at the next turn, and sent again when its lease is over."""
        for future, claim in [pair for pair in self._flying.items() if pair[0].done()]:
            outcome = _outcome(future, claim)
            if outcome is not None:
                _settle(claim, outcome)
            del self._flying[future]

    def _send_due(self, pool: ThreadPoolExecutor) -> None:
        free = THREADS - len(self._flying)
        for claim in deliveries.claim(region=self._region, limit=free) if free else []:
            future = pool.submit(_attempt, claim)
            self._flying[future] = claim
            future.add_done_callback(lambda _: self.ring())


def _attempt(claim: Claim) -> Outcome | None:
    """Render and send; None where nothing is to be sent. A store that is slow holds up this delivery alone."""
    log_ids.begin(webhook=claim.delivery_id)
    try:
        task = deliveries.prepare(claim)
    finally:
        connection.close()  # nobody else uses this thread's, and the receiver may take its time
    if task is None:
        return None
    log_ids.add(**task.about)
    facts: dict[str, tracing.Fact] = {"anex.event": task.event, "anex.attempt": claim.number}
    with tracing.span("webhook", kind="client", parent=task.traceparent, facts=facts) as span:
        outcome = deliveries.send(task)
        span.note({"http.response.status_code": outcome.status or 0})
        if not outcome.delivered:
            span.fail(str(outcome.status or "unreachable"))
    return outcome


def _settle(claim: Claim, outcome: Outcome) -> None:
    """One that cannot be written down is left to the end of its lease and holds up no other."""
    try:
        deliveries.settle(claim, outcome)
    except AWAY:
        raise
    except Exception:
        log.exception("the outcome of webhook %s could not be written down", claim.delivery_id)


def _outcome(future: "Future[Outcome | None]", claim: Claim) -> Outcome | None:
    """What came of an attempt; None where nothing is to be written down: it is claimed again after its lease."""
    failure = future.exception()
    if failure is None:
        return future.result()
    if isinstance(failure, AWAY):
        return None
    log.error("webhook %s could not be sent", claim.delivery_id, exc_info=failure)
    return Outcome(clock.now(), 0, error="It could not be sent.")
