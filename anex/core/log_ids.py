"""What the log lines of one piece of work are about: the ids of its request, organization, job, task.

A piece of work begins with ids of its own; what it does in other tasks and threads adds to the same ones. Pools of
threads that run a part of it do so in a copy of its context.
"""

from contextvars import ContextVar
from uuid import uuid4

_ids: ContextVar[dict[str, str] | None] = ContextVar("log_ids", default=None)


def begin(**ids: object) -> None:
    """A piece of work begins here; lines of its task or thread, and of what it starts, tell these ids."""
    _ids.set({name: str(value) for name, value in ids.items()})


def end() -> None:
    """The thread goes on with something else."""
    _ids.set(None)


def add(**ids: object) -> None:
    """Tell these too from now on; nothing changes outside of a piece of work."""
    if (known := _ids.get()) is not None:
        known.update({name: str(value) for name, value in ids.items()})


def current() -> dict[str, str]:
    """What lines written here are about."""
    return _ids.get() or {}


def request_id() -> str:
    """The id of the request that is answered here, as `x-request-id` tells it; a new one outside of any."""
    return current().get("request") or uuid4().hex
