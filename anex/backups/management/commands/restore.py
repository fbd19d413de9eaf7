"""`manage.py restore FOLDER`: an empty installation becomes the one that was backed up."""

import argparse
import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from anex.backups import PARTS, database, fingerprint, objects
from jobs.storage import store


class Command(BaseCommand):
    """Before any process of the platform is started."""

    help = "Fill an empty database and an empty store from a backup, before anything else is started."
    # Its tables are what is brought.
    requires_migrations_checks = False

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the form."""
        parser.add_argument("folder", type=Path, help="what `manage.py backup` wrote")
        parser.add_argument("--only", choices=PARTS, help="of a second region only the objects, after the database")

    def handle(self, *args: Any, **options: Any) -> None:
        """Check that nothing is overwritten, fill, compare."""
        folder: Path = options["folder"]
        about, parts = _about(folder), (options["only"],) if options["only"] else PARTS
        _require_empty(parts)
        if "database" in parts:
            self._database(folder, about)
        if "objects" in parts:
            self._objects(folder, about)
        self.stdout.write("Now run: manage.py migrate. Then start the processes.")

    def _database(self, folder: Path, about: dict[str, Any]) -> None:
        if "books" not in about:
            raise CommandError("This backup has no database.")
        try:
            database.load(folder / "database.dump")
        except database.DumpFailed as error:
            raise CommandError(str(error)) from error
        if (found := database.books()) != about["books"]:
            wrong = sorted(name for name in about["books"] | found if found.get(name) != about["books"].get(name))
            raise CommandError(f"The database differs from what was copied: {', '.join(wrong)}")
        self.stdout.write("database: every table and the sums of the ledger are as they were")

    def _objects(self, folder: Path, about: dict[str, Any]) -> None:
        if "objects" not in about:
            raise CommandError("This backup has no objects.")
        try:
            count, missing = objects.put_back(folder, store(settings.ANEX_REGION), region=settings.ANEX_REGION)
        except objects.BrokenCopy as error:
            raise CommandError(str(error)) from error
        if count != about["objects"]:
            raise CommandError(f"objects.jsonl names {count} objects, {about['objects']} were copied.")
        self.stdout.write(f"objects: {count} put back")
        for key in missing:
            self.stdout.write(f"not in the backup, deleted or replaced while it was made: {key}")


def _about(folder: Path) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads((folder / "backup.json").read_text())
    except FileNotFoundError:
        raise CommandError(f"{folder} is no finished backup: it has no backup.json.") from None
    if about["region"] != settings.ANEX_REGION:
        raise CommandError(f"This is the backup of region {about['region']}; ANEX_REGION is {settings.ANEX_REGION}.")
    if about["key"] != fingerprint():
        raise CommandError("SECRET_KEY is not the one that sealed what is in this backup.")
    return about


def _require_empty(parts: tuple[str, ...]) -> None:
    if "database" in parts and not database.is_empty():
        raise CommandError("The database has tables already; give an empty one.")
    if "objects" in parts and next(iter(store(settings.ANEX_REGION).list("")), None):
        raise CommandError("The store has objects already; give an empty one.")
