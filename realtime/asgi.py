"""The paths that are answered here, before Django; see anex/asgi.py."""

import logging
from typing import Any, Final

from django.urls import re_path

from anex.core import garbage
from anex.core.asgi import App, Receive, Scope, Send
from inference.requests.profiles import OPENAI_V1, REALTIME_V1, V1
from realtime import house
from realtime.chat.completions import CHAT, serve
from realtime.completions.protocol import COMPLETIONS
from realtime.decisions.calls import decide
from realtime.embeddings.calls import embed
from realtime.handling import endpoint
from realtime.house import Patience, Uploads
from realtime.models.calls import capable_model, capable_models, native_models, provider_model, provider_models
from realtime.responses.protocol import RESPONSES

log = logging.getLogger(__name__)

_CALLS: Final = (
    (r"^v1/chat/completions$", endpoint(serve(CHAT), V1, "POST")),
    (r"^v1/responses$", endpoint(serve(RESPONSES), V1, "POST")),
    (r"^v1/completions$", endpoint(serve(COMPLETIONS), V1, "POST")),
    (r"^v1/embeddings$", endpoint(embed, V1, "POST")),
    (r"^v1/systemone$", endpoint(decide, V1, "POST")),
    (r"^v1/models$", endpoint(provider_models, V1, "GET", "HEAD")),
    (r"^v1/models/(?P<model>.+)$", endpoint(provider_model, V1, "GET", "HEAD")),
    (r"^openai/v1/chat/completions$", endpoint(serve(CHAT), OPENAI_V1, "POST")),
    (r"^openai/v1/responses$", endpoint(serve(RESPONSES), OPENAI_V1, "POST")),
    (r"^openai/v1/completions$", endpoint(serve(COMPLETIONS), OPENAI_V1, "POST")),
    (r"^openai/v1/embeddings$", endpoint(embed, OPENAI_V1, "POST")),
    (r"^openai/v1/models$", endpoint(capable_models, OPENAI_V1, "GET", "HEAD")),
    (r"^openai/v1/models/(?P<model>.+)$", endpoint(capable_model, OPENAI_V1, "GET", "HEAD")),
    (r"^realtime/v1/embeddings$", endpoint(embed, REALTIME_V1, "POST")),
    (r"^realtime/v1/systemone$", endpoint(decide, REALTIME_V1, "POST")),
    (r"^realtime/v1/models$", endpoint(native_models, REALTIME_V1, "GET", "HEAD")),
)

# Read from the top for every request that reaches the process.
routes: Final[list[Any]] = [re_path(path, application) for path, application in _CALLS]  # type: ignore[arg-type]


def lifespan(uploads: Uploads, patience: Patience = Patience()) -> App:  # noqa: B008
    """The application that opens the house before the first request and closes it after the last."""

    async def live(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        async with house.opened(patience, uploads) as opened:
            scope["state"]["realtime"] = opened
            garbage.spare()
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    return live
