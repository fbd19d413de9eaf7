"""`manage.py backup FOLDER`: the database and this region's store, as one moment saw them."""

import argparse
import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from anex.backups import PARTS, database, fingerprint, objects
from anex.core import clock
from jobs.storage import store


class Command(BaseCommand):
    """While everything runs."""

    help = "Copy the database and this region's objects into a new folder, while everything runs."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the form."""
        parser.add_argument("folder", type=Path, help="a folder that does not exist yet")
        parser.add_argument("--only", choices=PARTS, help="of a second region only the objects are to be copied")

    def handle(self, *args: Any, **options: Any) -> None:
        """Database first: see docs/decisions/backups.md."""
        folder: Path = options["folder"]
        try:
            folder.mkdir(mode=0o700, parents=True)
        except FileExistsError:
            raise CommandError(f"{folder} exists already.") from None
        about: dict[str, Any] = {"region": settings.ANEX_REGION, "key": fingerprint()}
        if options["only"] != "objects":
            with database.moment() as name:
                about |= {"taken_at": clock.now().isoformat(), "books": database.books()}
                try:
                    database.dump(folder / "database.dump", snapshot=name)
                except database.DumpFailed as error:
                    raise CommandError(str(error)) from error
            self.stdout.write("database: copied")
        if options["only"] != "database":
            about["objects"] = objects.copy(store(settings.ANEX_REGION), folder)
            self.stdout.write(f"objects: {about['objects']} copied")
        (folder / "backup.json").write_text(json.dumps(about, indent=2) + "\n")
