"""`manage.py catalogue check [FOLDER]`: validate catalogue files before they are deployed."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from inference.catalogue.loading import FOLDER, problems


class Command(BaseCommand):
    help = "Checks the model catalogue, or a folder of catalogue files."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """`check` and, optionally, the folder to read."""
        parser.add_argument("action", choices=["check"])
        parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a line per bad file and fail, or the number of good ones."""
        folder: Path = options["folder"]
        found = len(list(folder.glob("*.yaml")))
        if not found:
            raise CommandError(f"{folder} holds no .yaml file.")
        bad = [str(problem) for problem in problems(folder)]
        if bad:
            raise CommandError("\n".join(bad))
        self.stdout.write(f"{found} models, no problem found.")
