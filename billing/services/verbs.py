"""Calls the SQL functions that the migrations create."""

from typing import Any

from django.db import connection

from anex.core.errors import Conflict, NotFound
from billing import amounts


def call(function: str, *arguments: object) -> tuple[str, tuple[Any, ...]]:
    """The outcome a function reports and the columns that follow it; refusals no verb can go on from are raised.

    NotFound for an unknown organization, Conflict for a source that belongs to another one, InvalidRequest
    for an absurd amount.
    """
    with connection.cursor() as cursor:
        cursor.callproc(function, arguments)
        outcome, *columns = cursor.fetchone()
    match outcome:
        case "unknown_organization":
            raise NotFound("There is no such organization.")
        case "conflict":
            raise Conflict("This source is already in use.")
        case "out_of_range":
            raise amounts.out_of_range()
    return outcome, tuple(columns)
