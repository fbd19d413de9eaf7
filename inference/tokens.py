"""Counts the input tokens of rows exactly as the model will be given them, chat template included.

A decision row is read once per question: its text counts for each, beside the question's own words.
"""

from collections.abc import Sequence

from anex.core.errors import Unavailable
from anex.core.usage import Usage
from inference.catalogue.schema import Model, PackagedWeights
from inference.counting import gguf, hf, server, words
from inference.counting.server import CountingServer
from inference.refusals import RowError
from inference.requests.options import RowOptions
from inference.requests.rows import ChatRow, Row


def count_rows(
    model: Model, rows: Sequence[Row], *, options: RowOptions, counting_server: CountingServer | None = None
) -> list[Usage | RowError]:
    """What each row sends, in order: its input tokens; or why it cannot be counted. One call per batch of rows.

    A model whose tokenizer is `server` needs `counting_server`, a live server of that model. Raises `Unavailable`
    where counting cannot be done now.
    """
    counts = _count_texts(model, rows, counting_server)
    return [count if isinstance(count, RowError) else Usage(input_tokens=count) for count in counts]


def _count_texts(model: Model, rows: Sequence[Row], counting_server: CountingServer | None) -> list[int | RowError]:
    if model.tokenizer == "words":
        return [words.count_row(row) for row in rows]
    if model.tokenizer == "file":
        return hf.load(model.files).count(rows, model_id=model.id)
    if model.tokenizer == "gguf" and isinstance(model.weights, PackagedWeights):
        chats = [row for row in rows if isinstance(row, ChatRow)]
        return gguf.load(model.weights).count(chats, model_id=model.id)
    if model.tokenizer == "server" and counting_server is not None:
        return server.count(counting_server, rows, model_id=model.id)
    raise Unavailable(f"Tokens of model {model.id} cannot be counted now: no server of it is running.")
