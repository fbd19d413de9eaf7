"""Whether a model server is there: `/health` as vLLM, llama.cpp and our own engines have it, else its list of models.

Asked on a connection of its own, so that the answer says whether a new request could connect.
"""

import asyncio
from typing import Final, Literal

from inference.backends.client import Client
from inference.backends.faults import UpstreamError
from inference.backends.registry import Server

# `ill`: nothing listens, or it says it cannot work. `silent`: it did not answer in time, which busy ones do too.
Health = Literal["well", "ill", "silent"]

PATIENCE_S: Final = 3.0
_NOT_HERE: Final = 400
_FAILED: Final = 500
_KEY_REFUSED: Final = (401, 403)


async def look(client: Client, server: Server, *, patience_s: float = PATIENCE_S) -> Health:
    """How a server is now. One that knows neither path, or wants another key for it, answers and is well."""
    try:
        async with asyncio.timeout(patience_s):
            status = await client.status(server, f"{server.base_url.removesuffix('/v1')}/health")
            if _NOT_HERE <= status < _FAILED:
                status = await client.status(server, f"{server.base_url}/models")
    except TimeoutError:
        return "silent"
    except UpstreamError:
        return "ill"
    return "ill" if status >= _FAILED else "well"


async def takes_key(client: Client, server: Server, *, patience_s: float = PATIENCE_S) -> bool:
    """Whether a server that is well lets requests with its key, or without one, in; one that says nothing does.

    It is sent a request for an answer that asks for nothing: `/health` and lists of models mostly need no key.
    """
    try:
        async with asyncio.timeout(patience_s):
            status = await client.status(server, f"{server.base_url}/chat/completions", body=b"{}")
    except (TimeoutError, UpstreamError):
        return True
    return status not in _KEY_REFUSED
