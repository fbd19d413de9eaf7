"""Reads catalogue files and says which file and field is wrong."""

from collections.abc import Container, Iterator, Sequence
from pathlib import Path

import msgspec
import yaml

from inference.catalogue import files
from inference.catalogue.schema import Model, PackagedWeights


class CatalogueError(Exception):
    """A catalogue file that breaks the schema; the message starts with the file's name."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path.name}: {reason}")
        self.path = path


def load(folders: Sequence[Path]) -> dict[str, Model]:
    """Every model of some folders by id, each folder's sorted; raises `CatalogueError` for the first bad file."""
    models = {}
    for found in read(folders):
        if isinstance(found, CatalogueError):
            raise found
        models[found.id] = found
    return models


def read(folders: Sequence[Path]) -> Iterator[Model | CatalogueError]:
    """Every file of some folders in turn, as its model or what is wrong with it."""
    known: set[str] = set()
    for path in (path for folder in folders for path in sorted(folder.glob("*.yaml"))):
        try:
            model = _decode(path)
            model = msgspec.structs.replace(model, files=files.of(model, folders))
            if reason := _misplaced(model, path, known) or _incomplete(model):
                raise CatalogueError(path, reason)
        except CatalogueError as error:
            yield error
        else:
            yield model
        known.add(path.stem)


def _decode(path: Path) -> Model:
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=Model)
    except (msgspec.DecodeError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise CatalogueError(path, " ".join(str(error).split())) from error


def _misplaced(model: Model, path: Path, known: Container[str]) -> str | None:
    if model.id != path.stem:
        return f"id is {model.id!r}: name the file {model.id}.yaml - at `$.id`"
    if model.id in known and not model.replaces:
        return f"another file describes {model.id} already: choose another id, or say `replaces: true` - at `$.id`"
    if model.replaces and model.id not in known:
        return f"there is no other {model.id} to replace - at `$.replaces`"
    return None


def _incomplete(model: Model) -> str | None:
    # What a package should carry is looked for when it is needed: the catalogue is whole without the package.
    if isinstance(model.weights, PackagedWeights):
        return None
    missing = files.missing(model)
    return f"tokenizer: file needs {model.id}/{missing} beside it - at `$.tokenizer`" if missing else None
