"""What a model server is at and what waits inside it, as vLLM tells in its metrics; of another nothing is known."""

import asyncio
import re
from typing import Final, NamedTuple

from inference.backends.client import Client
from inference.backends.faults import UpstreamError
from inference.backends.registry import Server

PATIENCE_S: Final = 2.0
# One line for each engine behind the address.
_COUNTS: Final = re.compile(rb"^vllm:num_requests_(running|waiting)(?:\{[^}\n]*\})? ([0-9.eE+]+)", re.M)


class Queue(NamedTuple):
    """Requests, of whomever."""

    running: int
    waiting: int


async def look(client: Client, server: Server) -> Queue | None:
    """What a server tells now; None where it does not."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            text = await client.text(server, f"{server.base_url.removesuffix('/v1')}/metrics")
    except (TimeoutError, UpstreamError):
        return None
    return read(text)


def read(metrics: bytes) -> Queue | None:
    """The same in a text of metrics."""
    counts = {b"running": 0, b"waiting": 0}
    found = _COUNTS.findall(metrics)
    for name, number in found:
        counts[name] += int(float(number))
    return Queue(counts[b"running"], counts[b"waiting"]) if found else None
