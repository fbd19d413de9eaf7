"""`manage.py scale`: what waits for each model's servers, and how many of them are wanted."""

import argparse
import json
from typing import Any

from django.core.management.base import BaseCommand

from jobs.scale import WITHIN_S, Queue
from jobs.selectors import queues

COLUMNS = ("model", "region", "rows_waiting", "tokens_waiting", "tokens_per_second", "servers", "wanted")


class Command(BaseCommand):
    """For a person, or with --json for whatever starts and stops servers."""

    help = "Show what waits for each model's servers, and how many servers are wanted."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the form and the aim."""
        parser.add_argument("--json", action="store_true", help="a list of objects")
        parser.add_argument(
            "--within", type=float, default=WITHIN_S, metavar="SECONDS", help="when the queue is to be worked off"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a line per model and region."""
        if options["within"] <= 0:
            self.stderr.write("The seconds must be above 0.")
            raise SystemExit(2)
        found = [_line(queue, options["within"]) for queue in queues.every()]
        if options["json"]:
            self.stdout.write(json.dumps(found))
            return
        self.stdout.write("\t".join(COLUMNS))
        for line in found:
            self.stdout.write("\t".join("-" if line[name] is None else str(line[name]) for name in COLUMNS))


def _line(queue: Queue, within_s: float) -> dict[str, Any]:
    pace = queue.tokens_per_second
    return {
        "model": queue.model_id,
        "region": queue.region,
        "rows_waiting": queue.rows,
        "tokens_waiting": queue.tokens,
        "tokens_per_second": pace and round(pace, 1),
        "servers": queue.servers,
        "wanted": queue.wanted(within_s),
    }
