"""Files of a model, named as Hugging Face does: beside the YAML in a folder of its id, or in its weights' package."""

from collections.abc import Sequence
from pathlib import Path

from inference.catalogue.schema import Files, Model, PackagedWeights
from inference.catalogue.weights import find

SHIPPED = Path(__file__).parent / "models"


def of(model: Model, folders: Sequence[Path]) -> Files:
    """What there is of a model's files. The last folder is looked into first: an operator's file goes before ours."""
    names = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
    return Files(*(_find(model, name, folders) for name in names))


def missing(model: Model) -> str | None:
    """The first file that a model with `tokenizer: file` cannot be counted without and does not have."""
    if model.tokenizer == "file" and model.files.tokenizer is None:
        return "tokenizer.json"
    if model.tokenizer == "file" and model.task == "chat" and model.files.chat_template is None:
        return "chat_template.jinja"
    return None


def _find(model: Model, name: str, folders: Sequence[Path]) -> Path | None:
    paths = (folder / model.id / name for folder in reversed(folders))
    beside = next((path for path in paths if path.is_file()), None)
    if beside is None and isinstance(model.weights, PackagedWeights):
        return find(model.weights.distribution, name)
    return beside
