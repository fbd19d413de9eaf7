"""Counts the input tokens of rows exactly as the model will be given them, chat template included.

A decision row is read once per question: its text counts for each, beside the question's own words.
"""

from collections.abc import Sequence

from anex.core.errors import Unavailable
from inference.catalogue.schema import Model, PackagedWeights
from inference.counting import gguf, server, words
from inference.counting.server import CountingServer
from inference.requests.rows import ChatRow, Row


def count_rows(model: Model, rows: Sequence[Row], *, counting_server: CountingServer | None = None) -> list[int]:
    """Input tokens of each row, in order; one call per batch of rows.

    A model whose tokenizer is `server` needs `counting_server`, a live server of that model. Raises `Unavailable`
    where counting cannot be done now, and `TemplateRefused` for the first row the chat template does not take.
    """
    if model.tokenizer == "words":
        return [words.count_row(row) for row in rows]
    if model.tokenizer == "gguf" and isinstance(model.weights, PackagedWeights):
        chats = [row for row in rows if isinstance(row, ChatRow)]
        return gguf.load(model.weights).count(chats, model_id=model.id)
    if model.tokenizer == "server" and counting_server is not None:
        return server.count(counting_server, rows, model_id=model.id)
    raise Unavailable(f"Tokens of model {model.id} cannot be counted now: no server of it is running.")
