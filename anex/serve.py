"""`python -m anex.serve`: one web process. Told to end, it finishes what it has and sends its clients elsewhere.

Several processes may serve one listening socket that they inherit (`--fd`): what one accepts no more, the others do.
docs/decisions/draining.md says how a restart loses nothing.
"""

import argparse
import asyncio
import os
import socket
from typing import Any

import uvicorn

from anex.connections import Connection, Page
from anex.core import clock, patience, tracing

# Longer than clients keep a connection they do not use: they close it, and never send into one that is being closed.
KEEP_ALIVE_S = 75
# As long a draining process waits for a request on a connection that is free, before it closes it.
LINGER_S = 1.0


class Server(uvicorn.Server):
    """uvicorn, but for its end: a connection is closed by the answer that says so, or once it has been free a while."""

    def __init__(self, config: uvicorn.Config, *, drain_s: float) -> None:
        super().__init__(config)
        self._drain_s = drain_s

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn; tells whoever started this process when requests are answered."""
        await super().startup(sockets)
        print("READY", flush=True)
        _notify("READY=1")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept nothing more, wait for what is under way for `drain_s` at most, give up the rest."""
        for server in self.servers:
            server.close()
        for listening in sockets or ():
            listening.close()
        # Requests that still come see it: `/readyz` then says no.
        self.lifespan.state["draining"] = True
        state = self.server_state
        state.default_headers = [*state.default_headers, (b"connection", b"close")]
        free_since: dict[Any, float] = {}
        until = clock.monotonic() + self._drain_s
        while state.connections and not self.force_exit and (now := clock.monotonic()) < until:
            for connection in list(state.connections):
                if isinstance(connection, Page):
                    connection.end()
                elif not isinstance(connection, Connection) or not connection.is_free():
                    free_since.pop(connection, None)
                elif now - free_since.setdefault(connection, now) >= LINGER_S:
                    connection.shutdown()
            await asyncio.sleep(0.05)
        await super().shutdown(sockets)
        # uvicorn raises its signal again, and Python's own end never comes.
        await asyncio.to_thread(tracing.end)


def _notify(what: str) -> None:
    """Tell systemd, where it asked to be told (sd_notify)."""
    if address := os.environ.get("NOTIFY_SOCKET"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            # A name that begins with @ is none of the file system.
            told.sendto(what.encode(), address.replace("@", "\0", 1) if address.startswith("@") else address)


def main() -> None:
    """Serve until SIGTERM or SIGINT; prints READY when requests are answered."""
    parser = argparse.ArgumentParser(prog="python -m anex.serve", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument(
        "--fd", type=int, help="a listening socket that this process inherits, instead of host and port"
    )
    parser.add_argument(
        "--drain-seconds", type=float, default=600, help="how long answers under way may take at the end"
    )
    asked = parser.parse_args()
    patience.choose(patience.WEB)
    config = uvicorn.Config(
        "anex.asgi:application",
        host=asked.host,
        port=asked.port,
        http=Connection,
        ws=Page,
        # A page sends nothing, and what it is told are ids.
        ws_max_size=1024,
        ws_per_message_deflate=False,
        loop="uvloop",
        lifespan="on",
        # Lines are written as the settings say; every request leaves one of ours (anex/observed.py).
        log_config=None,
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        # By then it has had `drain_s`.
        timeout_graceful_shutdown=0,
    )
    listening = config.bind_socket() if asked.fd is None else socket.socket(fileno=asked.fd)
    Server(config, drain_s=asked.drain_seconds).run([listening])


if __name__ == "__main__":
    main()
