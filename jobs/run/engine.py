"""The model server that a worker of the queue `inference.<model>` starts beside its pump.

Imported by such workers alone.
"""

import argparse
import logging
import os
import shlex
import signal
import threading

from django.db import connection

from inference.engines import arguments
from inference.engines.vllm import Vllm

log = logging.getLogger(__name__)


class Engine:
    """One model's vLLM, watched in a thread from `start` to `stop`; it ends with the process, however that ends."""

    def __init__(self, model_id: str, *, region: str, options: str) -> None:
        """`options` are those of `manage.py engine`, as one text.

        Raises AnexError, and SystemExit for an option that there is not.
        """
        parser = argparse.ArgumentParser(prog="ANEX_ENGINE_OPTIONS", add_help=False, allow_abbrev=False)
        arguments.declare(parser)
        chosen = vars(parser.parse_args(shlex.split(options)))
        self.model_id = model_id
        self._stop = threading.Event()
        self._vllm = Vllm(arguments.launch(model_id, chosen, region=region), stop=self._stop, is_workers=True)
        self._thread = threading.Thread(target=self._run, name="engine")

    @property
    def backend_id(self) -> int | None:
        """The server in the registry while it is healthy."""
        return self._vllm.backend_id

    def start(self) -> None:
        """Begin; the server is registered once it answers."""
        self._thread.start()

    def stop(self) -> None:
        """Withdraw the server, let it finish what others sent it, and end it; waits for it."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._vllm.run()
        except Exception:
            log.exception("the server of %s cannot be kept running; the worker ends", self.model_id)
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            connection.close()
