"""Checks an input span by span: in this process where it is small, else in as many children as there are cores.

A child is sent one span at a time and holds nothing else, so what it found is the same whichever child it was. It dies
with this process, even by kill -9; where a child dies alone, nothing is concluded and the check has to be made again.
"""

import os
import secrets
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from tempfile import TemporaryFile

from anex.core import clock
from anex.core.process import die_with_parent
from jobs.run.checking import Found, check_span
from jobs.run.scope import Scope, Span, spans_of

SPAN_BYTES = 16 * 1024 * 1024  # less than the longest line of any profile: what fits into a span is not too long
SMALL_SPANS = 2  # so many are checked sooner than a child has started
MOST_CHILDREN = 16
PULSE_SECONDS = 0.5
# More than counting some rows takes, or one long line in each of the other children, which are checked one at a time.
SILENCE_SECONDS = 600.0
_ROOT = Path(__file__).resolve().parents[2]


class CheckerLost(Exception):
    """A child ended without an answer (killed, or out of memory), or gives no sign of life any more."""


def check_spans(scope: Scope, *, pulse: Callable[[], None]) -> Generator[Found]:
    """What each span of an input came to, in order; `pulse` is called twice a second at least and may raise.

    Raises CheckerLost, Unavailable, ObjectChanged, ObjectMissing. Closing the iterator ends the children.
    """
    spans = spans_of(scope.size_bytes, SPAN_BYTES)
    if len(spans) <= SMALL_SPANS:
        for span in spans:
            yield check_span(scope, span, pulse=pulse)
        return
    with ExitStack() as stack:
        yield from _in_order(_start(min(cores(), len(spans)), scope, stack), spans, pulse)


def cores() -> int:
    """How many processes this one may keep busy."""
    return min(len(os.sched_getaffinity(0)), MOST_CHILDREN)


def _in_order(children: list[Connection], spans: Sequence[Span], pulse: Callable[[], None]) -> Iterator[Found]:
    waiting = deque(enumerate(spans))
    at_work: dict[Connection, int] = {}
    heard: dict[Connection, float] = {}
    found: dict[int, Found] = {}
    following = 0
    while following < len(spans):
        for child in children:
            if waiting and child not in at_work:
                at_work[child], span = waiting.popleft()
                heard[child] = clock.monotonic()
                _send(child, span)
        ready = wait(list(at_work), timeout=PULSE_SECONDS)
        for child in [child for child in at_work if child in ready]:
            heard[child] = clock.monotonic()
            if answer := _receive(child):
                found[at_work.pop(child)] = answer
        if any(clock.monotonic() > heard[child] + SILENCE_SECONDS for child in at_work):
            raise CheckerLost
        pulse()
        while following in found:
            yield found.pop(following)
            following += 1


def _send(child: Connection, message: Scope | Span) -> None:
    try:
        child.send(message)
    except BrokenPipeError:
        raise CheckerLost from None


def _receive(child: Connection) -> Found | None:
    """What a span came to; None for a sign of life."""
    try:
        answer = child.recv()
    except (EOFError, ConnectionResetError):
        raise CheckerLost from None
    if isinstance(answer, Exception):
        raise answer
    assert isinstance(answer, Found | None)
    return answer


def _start(count: int, scope: Scope, stack: ExitStack) -> list[Connection]:
    """Children that know the scope; they end with the stack."""
    lock = stack.enter_context(TemporaryFile())  # noqa: SIM115 - the stack closes it
    environment = os.environ | {
        # Hashes of custom_ids are compared across children, and nobody outside can know which ids collide.
        "PYTHONHASHSEED": str(secrets.randbelow(2**32)),
        "RAYON_NUM_THREADS": str(max(1, cores() // count)),
        "OPENBLAS_NUM_THREADS": "1",
    }
    children = []
    for _ in range(count):
        mine, theirs = Pipe()
        stack.callback(mine.close)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", "jobs.run.check_child", str(theirs.fileno()), str(lock.fileno())],
                cwd=_ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(theirs.fileno(), lock.fileno()),
                preexec_fn=die_with_parent(signal.SIGKILL),
            )
        stack.callback(_end, process)
        _send(mine, scope)
        children.append(mine)
    return children


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
