"""Run the CPU model server until SIGINT or SIGTERM."""

import argparse
import os
import signal
import sys

from anex.core.errors import Unavailable
from inference.engines.local.server import LOOPBACK, Settings, start

KEY_ENV = "ANEX_LOCAL_ENGINE_KEY"
STOP_SIGNALS = {signal.SIGINT, signal.SIGTERM}


def main() -> int:
    """Serve on the port of the command line; prints READY when requests are answered."""
    parser = argparse.ArgumentParser(prog="python -m inference.engines.local", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1, help="more than one helps only on an idle machine")
    parser.add_argument("--parallel", type=int, default=8, help="requests answered at a time")
    parser.add_argument("--context-per-slot", type=int, default=2048, help="tokens of input and output per request")
    chosen = parser.parse_args()
    key = os.environ.get(KEY_ENV, "")
    if not key:
        return _refuse(f"Set {KEY_ENV} to the key that clients of this server must send.")
    # Blocked before the server's threads exist, so that a signal reaches sigwait and nothing else.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    settings = Settings(chosen.port, key, chosen.threads, chosen.parallel, chosen.context_per_slot)
    try:
        _server = start(settings)
    except (Unavailable, RuntimeError) as error:
        return _refuse(str(error))
    print(f"READY http://{LOOPBACK}:{chosen.port}/v1", flush=True)
    signal.sigwait(STOP_SIGNALS)
    # The server's destructor can wait for ever when it has only just started; there is no state to save.
    os._exit(0)


def _refuse(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
