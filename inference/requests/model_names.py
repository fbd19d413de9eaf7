"""Names of models with a level of thinking and a speed behind them, as editors send them (reference 004). Pure."""

import re
from collections.abc import Iterator
from typing import Final

_EXTENSION: Final = re.compile(r"(?:-thinking-(?P<level>none|minimal|low|medium|high|xhigh|max))?(?:-fast)?")
_LONGEST: Final = len("-thinking-minimal-fast")


def readings(name: str) -> Iterator[str]:
    """The models that a name may mean, the longest first: itself, then those it extends. No model has a faster tier."""
    yield name
    for start in range(len(name) - 1, max(0, len(name) - _LONGEST - 1), -1):
        if _EXTENSION.fullmatch(name, start):
            yield name[:start]


def level(name: object, model_id: str) -> str | None:
    """The level that a name asks of the model it extends."""
    if not isinstance(name, str) or not name.startswith(model_id):
        return None
    found = _EXTENSION.fullmatch(name, len(model_id))
    return found["level"] if found else None
