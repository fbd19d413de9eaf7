"""A Postgres bit string: one bit per row of a chunk."""

from typing import Any

from django.db import models


class BitStringField(models.Field):  # type: ignore[type-arg]
    """`bit varying`, as a text of 0 and 1 in Python; bit i is row i of the chunk."""

    def db_type(self, connection: Any) -> str:
        """The column type."""
        return "bit varying"

    def get_placeholder(self, value: Any, compiler: Any, connection: Any) -> str:
        """Postgres does not cast text to bits by itself."""
        return "%s::bit varying"
