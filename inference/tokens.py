"""Counts the input tokens of rows exactly as the model will be given them, chat template included.

A decision row is read once per question: its text counts for each, beside the question's own words. Of a row with media
the text is counted by the tokenizer, which never sees the bytes, and each picture and clip by the catalogue's rates.
"""

from collections.abc import Sequence

import msgspec

from anex.core.errors import Unavailable
from anex.core.usage import Usage
from inference.catalogue.schema import Model, PackagedWeights
from inference.counting import gguf, hf, server, words
from inference.counting.server import CountingServer
from inference.media.lengths import measure
from inference.media.probe import Patience
from inference.media.rates import check_context, count_media, least_tokens
from inference.refusals import RowError
from inference.requests.content import text_messages, text_parts
from inference.requests.options import RowOptions
from inference.requests.rows import ChatRow, EmbeddingRow, Row, content_at, media_of

# The marks a chat template puts around each picture or clip, at most; the encoder's tokens replace the placeholder
# between them. A template that is at hand writes its own, and one that has none is counted by words.
MARK_TOKENS = 4
_WRITES_MARKS = ("file", "words")
# Of a row with more items it is first seen whether they could fit at all: to read the headers of the millions of tiny
# clips that a line can hold would take hours.
_MANY_ITEMS = 1000


def count_rows(
    model: Model,
    rows: Sequence[Row],
    *,
    options: RowOptions,
    counting_server: CountingServer | None = None,
    patience: Patience | None = None,
) -> list[Usage | RowError]:
    """What each row sends, in order: its input tokens, items and their length; or why it cannot be counted.

    One call per batch of rows. Nobody is asked about media that is named by URL. A model whose tokenizer is `server`
    needs `counting_server`, a live server of that model. `patience` bounds what clips with hostile headers may cost.
    Raises `Unavailable` where counting cannot be done now.
    """
    counts = count_texts(model, rows, counting_server=counting_server)
    return [
        count if isinstance(count, RowError) else _with_media(model, row, count, options, patience)
        for row, count in zip(rows, counts, strict=True)
    ]


def count_texts(
    model: Model, rows: Sequence[Row], *, counting_server: CountingServer | None = None
) -> list[int | RowError]:
    """As `count_rows`, the tokens of each row without its pictures and clips, but with the marks around them."""
    if model.tokenizer in _WRITES_MARKS:
        return _count(model, rows, counting_server)
    counts = _count(model, [_without_media(row) for row in rows], counting_server)
    return [
        count if isinstance(count, RowError) else count + MARK_TOKENS * len(media_of(row))
        for row, count in zip(rows, counts, strict=True)
    ]


def _without_media(row: Row) -> Row:
    if not media_of(row):
        return row
    if isinstance(row, ChatRow):
        return msgspec.structs.replace(row, messages=text_messages(row.messages), media=())
    if isinstance(row, EmbeddingRow) and not isinstance(row.input, str):
        return msgspec.structs.replace(row, input=text_parts(row.input), media=())
    return row


def _with_media(
    model: Model, row: Row, text_tokens: int, options: RowOptions, patience: Patience | None
) -> Usage | RowError:
    media = media_of(row)
    if not media:
        return Usage(input_tokens=text_tokens)
    usage, at, kinds = Usage(input_tokens=text_tokens), content_at(row), [part.modality for part in media]
    try:
        if len(media) > _MANY_ITEMS:
            least = text_tokens + least_tokens(kinds, model=model)
            check_context(least, kinds, model=model, row=row.custom_id)
        for part in media:
            at, item = part.at, measure(part, patience=patience)
            usage += count_media([item], model=model, row=row.custom_id, video_fps=options.video_fps)
        at = content_at(row)
        check_context(usage.input_tokens, kinds, model=model, row=row.custom_id)
    except RowError as refusal:
        return refusal.placed(at)
    return usage


def _count(model: Model, rows: Sequence[Row], counting_server: CountingServer | None) -> list[int | RowError]:
    widest = max(model.context_tokens, model.visual_context_tokens or 0)
    if model.tokenizer == "words":
        return [words.count_row(row) for row in rows]
    if model.tokenizer == "file":
        return hf.load(model.files).count(rows, model_id=model.id, context_tokens=widest)
    if model.tokenizer == "gguf" and isinstance(model.weights, PackagedWeights):
        chats = [row for row in rows if isinstance(row, ChatRow)]
        return gguf.load(model.weights).count(chats, model_id=model.id, context_tokens=widest)
    if model.tokenizer == "server" and counting_server is not None:
        return server.count(counting_server, rows, model_id=model.id)
    raise Unavailable(f"Tokens of model {model.id} cannot be counted now: no server of it is running.")
