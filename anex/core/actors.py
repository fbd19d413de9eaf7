"""Who did something: a person, a key, staff or the platform itself."""

from dataclasses import dataclass
from typing import Literal, cast, get_args

Kind = Literal["user", "key", "staff", "system"]


@dataclass(frozen=True, slots=True)
class Actor:
    """The doer named in every write; `id` is a user's primary key, a key id, or a component's name."""

    kind: Kind
    id: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"

    @classmethod
    def parse(cls, text: str) -> "Actor":
        """The actor that was kept as `kind:id`; ValueError for anything else."""
        kind, _, identity = text.partition(":")
        if kind not in get_args(Kind):
            raise ValueError(f"{text!r} names no actor")
        return cls(cast(Kind, kind), identity)


def system(component: str) -> Actor:
    """The platform acting by itself, e.g. `system("sweep")`."""
    return Actor("system", component)
