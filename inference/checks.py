"""System checks: a broken catalogue file stops the start, named."""

from typing import Any

from django.core.checks import CheckMessage, Error, register

from inference import catalogue
from inference.catalogue.loading import CatalogueError, read


@register()
def check_catalogue(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """`inference.E001` for each catalogue file that breaks the schema, with file and field.

    `inference.E002` where the operator's folder is none.
    """
    lost = [folder for folder in catalogue.folders() if not folder.is_dir()]
    bad = [found for found in read(catalogue.folders()) if isinstance(found, CatalogueError)]
    return [
        *(Error(f"ANEX_MODELS_DIR: {folder} is not a folder", id="inference.E002") for folder in lost),
        *(Error(f"catalogue file {error}", hint=f"Edit {error.path}.", id="inference.E001") for error in bad),
    ]
