"""The process that checks spans of an input for a worker (see `checkers`). It has no database.

Arguments: the descriptors of its end of a pipe and of the file whose lock is held while a long line is in memory. It is
sent a scope, then one span after the other, and answers with what it found or the exception that kept it from it. While
it is at work it sends `None` now and then, as a sign of life.
"""

import gc
import resource
import sys
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection

from anex.core import clock
from anex.core.process import locked
from jobs.run.checking import Found, check_span

MOST_MEMORY_BYTES = 8 * 1024**3  # addresses; several times what the longest line takes
# The rows of a batch live for a moment and hold no cycles: looking for cycles among them costs more than reading them.
GC_THRESHOLD = 100_000
SIGN_SECONDS = 1.0


def main(pipe: int, lock: int) -> None:
    """Check what is asked for until the pipe is closed."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
    gc.set_threshold(GC_THRESHOLD)
    gc.freeze()
    with Connection(pipe) as connection:
        try:
            scope = connection.recv()
            pulse = _signs_of_life(connection)
            while True:
                span = connection.recv()
                answer: Found | Exception
                try:
                    answer = check_span(scope, span, pulse=pulse, alone=partial(locked, lock))
                except Exception as error:
                    answer = error
                connection.send(answer)
        except EOFError:
            return


def _signs_of_life(connection: Connection) -> Callable[[], None]:
    last = clock.monotonic()

    def pulse() -> None:
        nonlocal last
        if clock.monotonic() >= last + SIGN_SECONDS:
            last = clock.monotonic()
            connection.send(None)

    return pulse


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
