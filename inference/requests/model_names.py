"""Names of models with a level of thinking and a speed behind them, as editors send them (reference 004). Pure."""

import re
from typing import Final

_EXTENDED: Final = re.compile(
    r"(?P<model>.+?)(?:-thinking-(?P<level>none|minimal|low|medium|high|xhigh|max))?(?:-fast)?", re.DOTALL
)


def base(name: str) -> str:
    """The name of the model that a name extends; no model has a faster tier."""
    found = _EXTENDED.fullmatch(name)
    return found["model"] if found else name


def level(name: object, model_id: str) -> str | None:
    """The level that a name asks of the model it extends."""
    found = _EXTENDED.fullmatch(name) if isinstance(name, str) and name != model_id else None
    return found["level"] if found else None
