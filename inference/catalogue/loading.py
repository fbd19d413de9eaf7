"""Reads catalogue files and says which file and field is wrong."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import yaml

from inference.catalogue.schema import Model

FOLDER = Path(__file__).parent / "models"


class CatalogueError(Exception):
    """A catalogue file that breaks the schema; the message starts with the file's name."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(f"{file}: {reason}")
        self.file = file


def load(folder: Path) -> tuple[Model, ...]:
    """Every model of a folder, sorted by id; raises `CatalogueError` for the first bad file."""
    return tuple(_read(path) for path in sorted(folder.glob("*.yaml")))


def problems(folder: Path) -> Iterator[CatalogueError]:
    """Every bad file of a folder, for checks that list all of them."""
    for path in sorted(folder.glob("*.yaml")):
        try:
            _read(path)
        except CatalogueError as error:
            yield error


def _read(path: Path) -> Model:
    try:
        model = msgspec.yaml.decode(path.read_bytes(), type=Model)
    except (msgspec.DecodeError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise CatalogueError(path.name, " ".join(str(error).split())) from error
    if model.id != path.stem:
        raise CatalogueError(path.name, f"id is {model.id!r}: name the file {model.id}.yaml - at `$.id`")
    return model
