"""Run the scripted engine until SIGINT or SIGTERM."""

import uvloop
from aiohttp import web

from inference.engines.scripted import options
from inference.engines.scripted.app import Engine


def main() -> None:
    """Serve on the port of the command line; prints READY when requests are answered."""
    chosen = options.parse()
    web.run_app(
        Engine(chosen).application(),
        host=chosen.host,
        port=chosen.port,
        access_log=None,
        shutdown_timeout=1,
        loop=uvloop.new_event_loop(),
        print=lambda _: print("READY", flush=True),
    )


if __name__ == "__main__":
    main()
