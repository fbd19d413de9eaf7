"""`manage.py engine MODEL`: run a model's vLLM server on this host until SIGTERM or SIGINT."""

import argparse
import signal
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from anex.core.errors import AnexError
from inference.engines import arguments
from inference.engines.vllm import Vllm


class Command(BaseCommand):
    """One server in the foreground; the registry names it while it is healthy."""

    help = "Run a model's vLLM server on this host and keep it registered while it is healthy."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare what the catalogue cannot know."""
        parser.add_argument("model")
        parser.add_argument("--region", default=settings.ANEX_REGION)
        arguments.declare(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until told to stop; what is wrong before the start is told as a sentence."""
        stop = threading.Event()
        try:
            engine = Vllm(arguments.launch(options["model"], options, region=options["region"]), stop=stop)
        except AnexError as error:
            raise CommandError(error.message) from error
        for number in (signal.SIGTERM, signal.SIGINT):
            # Not set in the handler itself: it may interrupt a wait that holds the event's own lock.
            signal.signal(number, lambda *_: threading.Thread(target=stop.set).start())
        engine.run()
