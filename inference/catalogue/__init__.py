"""The catalogue: what is known about every model, one YAML file each. Unknown facts are null, never guessed."""

from functools import cache

from inference.catalogue.loading import FOLDER, load
from inference.catalogue.schema import Model

__all__ = ["Model", "all_models", "get"]


@cache
def _by_id() -> dict[str, Model]:
    return {model.id: model for model in load(FOLDER)}


def all_models() -> tuple[Model, ...]:
    """Every model in the catalogue, by id; raises `CatalogueError` where a file breaks the schema."""
    return tuple(_by_id().values())


def get(model_id: str) -> Model | None:
    """The model with exactly this id; there are no aliases."""
    return _by_id().get(model_id)
