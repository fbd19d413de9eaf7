"""Rules of webhooks: which steps of a job are told, and when a delivery is tried again.

Names of events are those of reference 001, Webhooks. The wire format is that of Standard Webhooks.
"""

import random
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum

from jobs.lifecycle import Status


class EventType(StrEnum):
    """What an endpoint can be told."""

    SUBMITTED = "submitted"
    ESTIMATING = "estimating"
    COST_READY = "cost_ready"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TEST = "test"


# When each is told and what it carries, for people; in Markdown.
MEANINGS = {
    EventType.SUBMITTED: "the job was made",
    EventType.ESTIMATING: "its file is being checked and priced",
    EventType.COST_READY: "the quote is ready; carries the estimate",
    EventType.IN_PROGRESS: "the quote was approved and its credits are held",
    EventType.COMPLETED: "the job is done; carries its status and a fresh link to the result",
    EventType.FAILED: "the job failed; carries why, and a link where rows were delivered",
    EventType.CANCELLED: "the job was stopped; carries the same as `failed`",
    EventType.TEST: "the button of the console",
}


class DeliveryState(StrEnum):
    """What can become of an event on its way to an endpoint."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    CANCELLED = "cancelled"


TERMINAL_EVENTS = (EventType.COMPLETED, EventType.FAILED, EventType.CANCELLED)
# What an endpoint can be limited to; a test is always taken.
CHOICES = tuple(event for event in EventType if event is not EventType.TEST)
# The steps that are told. `cancelling` and `finalizing` are not: the next word is the end.
EVENT_OF = {
    Status.SUBMITTED: EventType.SUBMITTED,
    Status.ESTIMATING: EventType.ESTIMATING,
    Status.COST_READY: EventType.COST_READY,
    Status.IN_PROGRESS: EventType.IN_PROGRESS,
    Status.DONE: EventType.COMPLETED,
    Status.FAILED: EventType.FAILED,
    Status.CANCELLED: EventType.CANCELLED,
}

# Seconds to wait after each failed attempt, about a day in all; after the last attempt nothing is tried any more.
WAITS = (5, 60, 5 * 60, 30 * 60, 2 * 3600, 4 * 3600, 8 * 3600, 9 * 3600)
ATTEMPTS = len(WAITS) + 1
# Each wait is drawn from this much around its figure, so that what failed together does not return together.
JITTER = 0.1
# The longest wait that a receiver's Retry-After can ask for.
MOST_RETRY_AFTER_S = 12 * 3600
# An endpoint that took nothing for this long is disabled.
PATIENCE = timedelta(days=3)


def wait_before_next(tries_left: int, *, retry_after_s: float = 0.0) -> timedelta:
    """How long a failed delivery with `tries_left` waits: the schedule's figure, or what is asked for if longer."""
    figure = WAITS[max(0, len(WAITS) - tries_left)] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - spreads load, keeps no secret
    return timedelta(seconds=max(figure, min(retry_after_s, MOST_RETRY_AFTER_S)))


def retry_after_seconds(header: str | None, *, now: datetime) -> float:
    """What a `Retry-After` asks for, as seconds or as a date (RFC 9110, 10.2.3); 0 where it asks for nothing usable."""
    text = (header or "").strip()
    if text.isascii() and text.isdecimal():
        return float(text[:10])
    try:
        return max(0.0, (parsedate_to_datetime(text) - now).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return 0.0
