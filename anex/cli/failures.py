"""How a command fails: a sentence for the person at the terminal, and the status that its script sees."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit statuses; 2 is Typer's for a wrong command line, 130 the shell's for Ctrl-C."""

    REFUSED = 1
    USAGE = 2
    NO_KEY = 3
    NO_CREDITS = 4
    JOB_NOT_DONE = 5
    TRY_LATER = 6


class Failure(Exception):
    """A command cannot go on. `status` is that of the HTTP answer, where there was one; `code` the server's word."""

    def __init__(
        self, message: str, *, exit_status: Exit = Exit.REFUSED, status: int | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.exit_status = exit_status
        self.status = status
        self.code = code


def of_status(status: int, message: str, code: str | None = None) -> Failure:
    """The failure of an HTTP answer that refuses."""
    if status == 401:
        kind = Exit.NO_KEY
    elif status == 402 or code in ("insufficient_credits", "credit_limit_reached"):
        kind = Exit.NO_CREDITS
    elif status in (408, 425, 429) or status >= 500:
        kind = Exit.TRY_LATER
    else:
        kind = Exit.REFUSED
    return Failure(message, exit_status=kind, status=status, code=code)
