"""The paths of files that are answered before Django, for their bodies stream; see anex/asgi.py."""

from typing import Any, Final

from django.urls import re_path

from anex.core.asgi import App, Receive, Scope, Send
from jobs.api.files.content import content
from jobs.api.files.exchange import endpoint
from jobs.api.files.upload import upload

_receive: Final = endpoint(upload, "POST")
_content: Final = endpoint(content, "GET", "HEAD")


def routes(otherwise: App) -> list[Any]:
    """For `URLRouter`; `otherwise` answers the list."""

    async def files(scope: Scope, receive: Receive, send: Send) -> None:
        await (_receive if scope["method"] == "POST" else otherwise)(scope, receive, send)

    return [
        re_path(r"^v1/files$", files),  # type: ignore[arg-type]
        re_path(r"^v1/files/(?P<file_id>[^/]+)/content$", _content),  # type: ignore[arg-type]
    ]
