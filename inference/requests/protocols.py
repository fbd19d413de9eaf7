"""Chat rows that are asked and answered in OpenAI's other text protocols, which their url names (reference 000). Pure.

Such a row is a chat from where it is read to where its answer is written.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from inference.catalogue.schema import Model
from inference.refusals import RowError
from inference.requests import chat, completions, response_answers, responses
from inference.requests.chat import ChatRow
from inference.requests.options import RowOptions
from inference.requests.translation import Translated, named, rename


class _Protocol(NamedTuple):
    """`translate` reads a body, `shape` writes an answer, `content` is where the question stands, `cap` its own cap."""

    translate: Callable[..., Translated[Any]]
    shape: Callable[[dict[str, Any], Any], dict[str, Any]]
    content: str
    cap: str = "max_tokens"


_PROTOCOLS: Final = {
    "/v1/responses": _Protocol(
        responses.translate, response_answers.as_response, "body.input", cap="max_output_tokens"
    ),
    "/v1/completions": _Protocol(
        completions.translate, lambda body, echo: completions.as_completion(body), "body.prompt"
    ),
}
_BODY: Final = "body."


def read(custom_id: str, body: dict[str, Any], *, url: str, model: Model, options: RowOptions) -> ChatRow:
    """The row a body holds in the protocol of its url, or a `RowError` that names the field as it was written."""
    protocol = _PROTOCOLS.get(url)
    if protocol is None:
        return chat.read(custom_id, body, model=model, options=options)
    translated = protocol.translate(body, refuses_unknown=False)
    try:
        row = chat.read(custom_id, translated.body, model=model, options=options)
    except RowError as error:
        rename(error, translated.names, prefix=_BODY)
        raise
    media = tuple(
        msgspec.structs.replace(part, at=_BODY + named(part.at.removeprefix(_BODY), translated.names))
        for part in row.media
    )
    return msgspec.structs.replace(row, media=media, url=url, echo=translated.echo)


def shape(row: ChatRow, body: dict[str, Any]) -> dict[str, Any]:
    """A chat answer as the protocol of its row has it."""
    protocol = _PROTOCOLS.get(row.url)
    return protocol.shape(body, row.echo) if protocol else body


def content_at(row: ChatRow) -> str:
    """Where a line holds what the row is about, as its path."""
    protocol = _PROTOCOLS.get(row.url)
    return protocol.content if protocol else "body.messages"


def cap_of(row: ChatRow) -> str:
    """The name of the field in which a row sets its own output cap."""
    protocol = _PROTOCOLS.get(row.url)
    return protocol.cap if protocol else "max_tokens"
