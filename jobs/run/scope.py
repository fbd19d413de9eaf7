"""What checking an input takes: everything but a database, so that other processes can do it."""

from dataclasses import dataclass

from inference import catalogue
from inference.counting.server import CountingServer
from inference.requests.options import RowOptions
from jobs.storage.interface import Store

MAX_ROWS = 10_000_000  # of an input


@dataclass(frozen=True, slots=True)
class Scope:
    """An input and what its rows are for; `counting_server` where the model's own server counts its tokens."""

    store: Store
    key: str
    etag: str
    size_bytes: int
    model: catalogue.Model
    options: RowOptions
    counting_server: CountingServer | None = None

    @property
    def max_line_bytes(self) -> int:
        """The longest line that may be."""
        return self.options.profile.max_line_bytes


@dataclass(frozen=True, slots=True)
class Counter:
    """A model server that counts tokens; without the registry, which needs the database."""

    base_url: str
    served_name: str
    api_key: str


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes [start, end) of an input. The lines that begin behind a line end in it belong to it, and the first line of
    the input to the first span."""

    start: int
    end: int


def spans_of(size_bytes: int, span_bytes: int) -> list[Span]:
    """An input cut into spans, which any number of processes may check; at least one."""
    return [Span(start, min(start + span_bytes, size_bytes)) for start in range(0, max(1, size_bytes), span_bytes)]
