"""Run MiniLM on the CPU until SIGINT or SIGTERM."""

import argparse
import os
import sys
from pathlib import Path

import uvloop
from aiohttp import web

from anex.core.errors import Unavailable
from inference.engines.minilm.app import App

KEY_ENV = "ANEX_LOCAL_ENGINE_KEY"


def main() -> int:
    """Serve on the port of the command line; prints READY when requests are answered."""
    parser = argparse.ArgumentParser(prog="python -m inference.engines.minilm", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="folder of the converted weights, made once")
    parser.add_argument("--threads", type=int, default=1, help="more than one helps only on an idle machine")
    chosen = parser.parse_args()
    key = os.environ.get(KEY_ENV, "")
    if not key:
        return _refuse(f"Set {KEY_ENV} to the key that clients of this server must send.")
    try:
        app = App(cache=chosen.cache, threads=chosen.threads, api_key=key)
    except (Unavailable, RuntimeError, OSError) as error:
        return _refuse(str(error))
    web.run_app(
        app.application(),
        host="127.0.0.1",
        port=chosen.port,
        access_log=None,
        shutdown_timeout=1,
        loop=uvloop.new_event_loop(),
        print=lambda _: print("READY", flush=True),
    )
    # llama.cpp's destructor can wait for ever; there is no state to save.
    os._exit(0)


def _refuse(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
