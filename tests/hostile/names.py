"""What a handler reads of a request: the names of fields and parameters it asks for, noted while it is asked.

So a new field of a form, of a query or of a body is attacked without being named anywhere.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.http import QueryDict
from rest_framework.fields import Field


@contextmanager
def noted() -> Iterator[set[str]]:
    """The names that were asked for since the set was last cleared."""
    names: set[str] = set()

    def noting(asked: Any) -> Any:
        def ask(query: QueryDict, name: Any, *rest: Any) -> Any:
            if isinstance(name, str):
                names.add(name)
            return asked(query, name, *rest)

        return ask

    read_field = Field.get_value

    def of_field(field: Field, dictionary: Any) -> Any:
        names.add(field.field_name)
        return read_field(field, dictionary)

    with pytest.MonkeyPatch.context() as patch:
        for method in ("get", "getlist", "__getitem__", "__contains__"):
            patch.setattr(QueryDict, method, noting(getattr(QueryDict, method)), raising=False)
        patch.setattr(Field, "get_value", of_field)
        yield names
