"""The list and the details of files; uploads and downloads stream, outside of Django."""

from typing import Any, Final

from rest_framework.request import Request
from rest_framework.response import Response

from anex.core.errors import AnexError, InvalidRequest
from jobs.api.files.rendering import render
from jobs.api.openai import OpenAIEndpoint, read_limit
from jobs.selectors import files

MAX_LIMIT: Final = 10_000
_ORDERS: Final = ("desc", "asc")


class DeletionNotOffered(AnexError):
    """405: files go on their schedule."""

    status = 405
    code = "file_deletion_not_supported"


class FilesView(OpenAIEndpoint):
    """`/files`; uploads are answered before Django."""

    def get(self, request: Request) -> Response:
        """A page of files, newest first unless asked otherwise."""
        asked = request.query_params
        order = asked.get("order", "desc")
        if order not in _ORDERS:
            raise InvalidRequest("order must be asc or desc.", param="order")
        page = files.page(
            self.caller.organization_id,
            purpose=asked.get("purpose"),
            after=asked.get("after"),
            limit=read_limit(asked, most=MAX_LIMIT, default=MAX_LIMIT),
            ascending=order == "asc",
        )
        data = [render(file, name) for file, name in zip(page.files, files.names(page.files), strict=True)]
        ends: dict[str, Any] = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {}
        return Response(
            {"object": "list", "data": data, "first_id": None, "last_id": None} | ends | {"has_more": page.has_more}
        )


class FileView(OpenAIEndpoint):
    """`/files/{id}`."""

    answers_frozen = True

    def get(self, request: Request, id: str) -> Response:
        """The file's details."""
        file = files.get(self.caller.organization_id, id)
        return Response(render(file, files.name(file)))

    def delete(self, request: Request, id: str) -> Response:
        """Not offered (000): 405 for every id."""
        raise DeletionNotOffered(
            "Files cannot be deleted here: uploaded files go after 7 days and results after 30. To delete the data of "
            "a batch sooner, delete its job in the console."
        )
