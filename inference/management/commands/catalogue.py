"""`manage.py catalogue check [FOLDER]`: validate catalogue files before they are deployed."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from anex.core.errors import Unavailable
from inference import catalogue
from inference.backends import registry
from inference.catalogue import Model, files
from inference.catalogue.loading import CatalogueError, read
from inference.catalogue.schema import PackagedWeights
from inference.catalogue.weights import find
from inference.counting import gguf, hf
from inference.counting.template import compile_file


class Command(BaseCommand):
    help = "Checks the model catalogue, files and tokenizers included, and says what keeps a model from being offered."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """`check` and, optionally, a folder of models that is not deployed yet."""
        parser.add_argument("action", choices=["check"])
        parser.add_argument("folder", nargs="?", type=Path, help="read instead of what ANEX_MODELS_DIR names")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a line per bad file and fail, or one per model with what is missing."""
        folder: Path | None = options["folder"]
        if folder and not any(folder.glob("*.yaml")):
            raise CommandError(f"{folder} holds no .yaml file.")
        folders = (files.SHIPPED, folder) if folder else catalogue.folders()
        found = list(read(folders))
        models = {model.id: model for model in found if isinstance(model, Model)}
        bad = [str(error) for error in found if isinstance(error, CatalogueError)]
        bad += [f"{model.id}.yaml: {reason}" for model in models.values() if (reason := _unusable(model))]
        if bad:
            raise CommandError("\n".join(bad))
        served = _served()
        for model in models.values():
            self.stdout.write(f"{model.id:<26}{_standing(model, served)}")
        self.stdout.write(f"{len(models)} models, no problem found.")


def _unusable(model: Model) -> str | None:
    """Why a model cannot be counted with the files it has; a package that is not installed is no fault of them."""
    packaged = model.weights if isinstance(model.weights, PackagedWeights) else None
    if packaged and not _installed(packaged):
        return None
    if missing := files.missing(model):
        return f"{missing} is neither beside it nor in the package of its weights"
    try:
        if model.files.chat_template:
            compile_file(model.files.chat_template)
        if model.tokenizer == "file":
            hf.load(model.files)
        if packaged and model.tokenizer == "gguf":
            gguf.load(packaged)
    except Unavailable as error:
        return error.message
    return None


def _standing(model: Model, served: set[tuple[str, str]] | None) -> str:
    """Whether a model is offered, as far as this app knows: prices are billing's."""
    if not model.countable:
        return "not offered: tokenizer unknown"
    if isinstance(model.weights, PackagedWeights) and not _installed(model.weights):
        return f"not offered: {model.weights.distribution} is not installed"
    if served is None:
        return "countable; the database that knows its servers cannot be reached"
    regions = [region for region in model.regions if (model.id, region) in served]
    if not regions:
        return f"not offered: no server (manage.py backends set {model.id} URL)"
    only = f" to organization {model.organization}" if model.organization else ""
    return f"offered in {' and '.join(regions)}{only}, where it has a price"


def _installed(weights: PackagedWeights) -> bool:
    return find(weights.distribution, weights.file) is not None


def _served() -> set[tuple[str, str]] | None:
    try:
        return {(row.model_id, row.region) for row in registry.every() if row.enabled}
    except DatabaseError:
        return None
