"""How long this process waits for Postgres and the store. Who answers requests gives up soon."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds that a statement may take (None: any time), and that the store may be silent, and how often it is asked.

    What is slower than that is taken for away. docs/outages.md has what follows for a request. A web process has a
    thread per request, which takes its connection along: none is kept (`keeps_connections`).
    """

    statement_s: float | None
    store_s: float
    store_tries: int
    keeps_connections: bool = True


COMMAND: Final = Patience(statement_s=None, store_s=60.0, store_tries=4)
WORKER: Final = Patience(statement_s=60.0, store_s=20.0, store_tries=4)
WEB: Final = Patience(statement_s=8.0, store_s=10.0, store_tries=2, keeps_connections=False)

_chosen: Patience = COMMAND


def choose(patience: Patience) -> None:
    """Before anything was asked."""
    global _chosen
    _chosen = patience


def chosen() -> Patience:
    """That of this process."""
    return _chosen
