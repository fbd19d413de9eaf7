"""Who did something: a person, a key, staff or the platform itself."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Actor:
    """The doer named in every write; `id` is a user's primary key, a key id, or a component's name."""

    kind: Literal["user", "key", "staff", "system"]
    id: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"


def system(component: str) -> Actor:
    """The platform acting by itself, e.g. `system("sweep")`."""
    return Actor("system", component)
