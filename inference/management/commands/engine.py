"""`manage.py engine MODEL`: run a model's vLLM server on this host until SIGTERM or SIGINT."""

import argparse
import shlex
import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from anex.core.errors import AnexError
from inference import catalogue
from inference.engines import launch as launching
from inference.engines.launch import LOOPBACK, Launch
from inference.engines.vllm import Vllm


class Command(BaseCommand):
    """One server in the foreground; the registry names it while it is healthy."""

    help = "Run a model's vLLM server on this host and keep it registered while it is healthy."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare what the catalogue cannot know."""
        parser.add_argument("model")
        parser.add_argument("--weights", default="", help="a folder or repository instead of the catalogue's")
        parser.add_argument("--dtype", default="")
        parser.add_argument("--quantization", default="")
        parser.add_argument("--host", default=LOOPBACK, help="where vLLM listens")
        parser.add_argument("--port", type=int, default=8001)
        parser.add_argument("--address", default="", help="how other hosts reach it, e.g. http://10.0.0.5:8001/v1")
        parser.add_argument("--region", default="world")
        parser.add_argument("--credential-env", default="", help="the environment variable that holds its key")
        parser.add_argument("--concurrency", type=int, default=64, help="requests it is sent at a time")
        parser.add_argument("--vllm-args", default="", help="further arguments of `vllm serve`, as one quoted text")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until told to stop; what is wrong before the start is told as a sentence."""
        stop = threading.Event()
        try:
            engine = Vllm(_launch(options), stop=stop)
        except AnexError as error:
            raise CommandError(error.message) from error
        for number in (signal.SIGTERM, signal.SIGINT):
            # Not set in the handler itself: it may interrupt a wait that holds the event's own lock.
            signal.signal(number, lambda *_: threading.Thread(target=stop.set).start())
        engine.run()


def _launch(options: dict[str, Any]) -> Launch:
    model = catalogue.get(options["model"])
    if model is None:
        raise CommandError(f"The catalogue has no model {options['model']!r}.")
    weights, revision = launching.weights_of(model, options["weights"])
    chosen = ("dtype", "quantization", "host", "port", "address", "region", "credential_env", "concurrency")
    return Launch(
        model_id=model.id,
        task=model.task,
        weights=weights,
        revision=revision,
        max_model_len=model.visual_context_tokens or model.context_tokens,
        extra=tuple(shlex.split(options["vllm_args"])),
        **{name: options[name] for name in chosen},
    )
