"""System checks: a broken catalogue file stops the start, named."""

from typing import Any

from django.core.checks import CheckMessage, Error, register

from inference.catalogue.loading import FOLDER, problems


@register()
def check_catalogue(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """`inference.E001` for each catalogue file that breaks the schema, with file and field."""
    return [
        Error(f"catalogue file {problem}", hint=f"Edit inference/catalogue/models/{problem.file}.", id="inference.E001")
        for problem in problems(FOLDER)
    ]
