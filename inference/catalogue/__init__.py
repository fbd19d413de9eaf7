"""The catalogue: what is known about every model, one YAML file each. Unknown facts are null, never guessed.

The models that ship with the platform are in `models/`; an operator may name a folder of further ones.
"""

from functools import cache
from pathlib import Path

from inference.catalogue.files import SHIPPED
from inference.catalogue.loading import load
from inference.catalogue.schema import Model

__all__ = ["Model", "all_models", "folders", "get", "include"]

_folders: tuple[Path, ...] = (SHIPPED,)


def folders() -> tuple[Path, ...]:
    """Where models are read from: the platform's own folder, then the operator's if there is one."""
    return _folders


def include(folder: Path | None) -> None:
    """Read the models of an operator's folder too, from now on; None goes back to those of the platform."""
    global _folders
    _folders = (SHIPPED, folder) if folder else (SHIPPED,)
    _by_id.cache_clear()


@cache
def _by_id() -> dict[str, Model]:
    return load(_folders)


def all_models() -> tuple[Model, ...]:
    """Every model in the catalogue, by id; raises `CatalogueError` where a file breaks the schema."""
    return tuple(_by_id().values())


def get(model_id: str) -> Model | None:
    """The model with exactly this id; there are no aliases."""
    return _by_id().get(model_id)
