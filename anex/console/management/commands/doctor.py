"""`manage.py doctor`: checks everything an installation needs and says what to do."""

import json
import sys
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandParser

from anex.doctor.examination import examine
from anex.doctor.findings import Finding

_MARKS: Final = {"ok": "ok     ", "warning": "look   ", "broken": "BROKEN "}


class Command(BaseCommand):
    """Ends with status 1 where something is broken; a warning alone is 0."""

    help = "Check the database, broker, store, clock, model servers, prices, mail and settings, and say what to do."
    requires_system_checks: list[str] = []  # they are part of what is told

    def add_arguments(self, parser: CommandParser) -> None:
        """--json for programs."""
        parser.add_argument("--json", action="store_true", help="print a JSON list")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print what is found."""
        found = examine()
        if options["json"]:
            self.stdout.write(json.dumps([asdict(each) for each in found], indent=2))
        else:
            self.stdout.write("\n".join(line for each in found for line in _lines(each)))
        if any(each.state == "broken" for each in found):
            sys.exit(1)


def _lines(found: Finding) -> list[str]:
    lines = [f"{_MARKS[found.state]}{found.about}: {found.told}"]
    return [*lines, f"       → {found.remedy}"] if found.remedy else lines
