"""One line of an input file: parsed, checked, and translated to what a model server is sent, by the model's task.

Pure and fast: a file of ten million lines passes through here twice.
"""

from typing import Any

from inference.catalogue.schema import Model
from inference.media.parts import MediaPart
from inference.media.rates import context_tokens
from inference.refusals import RowError, expected, row_error
from inference.requests import chat, decision_answers, decisions, embeddings, protocols
from inference.requests.chat import ChatRow
from inference.requests.decisions import DecisionRow
from inference.requests.embeddings import EmbeddingRow
from inference.requests.envelope import PATHS, URLS, named_id, open_line
from inference.requests.options import RowOptions

__all__ = [
    "PATHS",
    "ChatRow",
    "DecisionRow",
    "EmbeddingRow",
    "Row",
    "RowError",
    "RowOptions",
    "named_id",
    "parse",
    "upstream_body",
]

Row = ChatRow | EmbeddingRow | DecisionRow


def parse(line: bytes, *, model: Model, options: RowOptions) -> Row:
    """The row a line holds for a model, or a `RowError` (reference 001, the input file)."""
    urls = URLS[model.task] if options.profile.takes_protocols else (f"/v1{PATHS[model.task]}",)
    url, custom_id, body = open_line(line, urls=urls)
    if options.profile.checks_model:
        _check_model(body.get("model"), model)
    if model.task == "embed":
        return embeddings.read(custom_id, body, model=model, options=options)
    if model.task == "decide":
        return decisions.read(custom_id, body, model=model)
    return protocols.read(custom_id, body, url=url, model=model, options=options)


def output_cap(row: Row, job_cap: int) -> int:
    """The most output tokens a row may get; `job_cap` is the job's, 0 for what writes nothing."""
    return chat.output_cap(row, job_cap) if isinstance(row, ChatRow) else job_cap


def upstream_body(row: Row, *, served_name: str, model: Model, options: RowOptions, max_tokens: int) -> bytes:
    """The JSON for the model's server: same row, same bytes. `max_tokens` is the output cap of the job."""
    if isinstance(row, EmbeddingRow):
        return embeddings.write(row, served_name=served_name)
    if isinstance(row, DecisionRow):
        return decisions.write(row, served_name=served_name)
    return chat.write(row, served_name=served_name, model=model, options=options, max_tokens=max_tokens)


def has_answer(row: Row, body: dict[str, Any]) -> bool:
    """Whether a server's 200 carries what the row asked for."""
    if isinstance(row, EmbeddingRow):
        return embeddings.has_answer(row, body)
    if isinstance(row, DecisionRow):
        return decision_answers.is_whole(row, body)
    return chat.has_answer(body)


def media_of(row: Row) -> tuple[MediaPart, ...]:
    """The pictures and clips of a row; a decision has none."""
    return () if isinstance(row, DecisionRow) else row.media


def content_at(row: Row) -> str:
    """Where a line holds what a row is about, as its path."""
    if isinstance(row, ChatRow):
        return protocols.content_at(row)
    return "body.input" if isinstance(row, EmbeddingRow) else "body.state"


def cap_of(row: Row) -> str:
    """What the body of a row calls its own output cap."""
    return protocols.cap_of(row) if isinstance(row, ChatRow) else "max_tokens"


def context_of(row: Row, model: Model) -> int:
    """The context of a row by what it carries, in tokens."""
    media = media_of(row)
    return context_tokens(model, [part.modality for part in media]) if media else model.context_tokens


def input_bound(row: Row, model: Model) -> int:
    """The most input tokens a server can truly have read for a row: a decision reads its text once per question."""
    return context_of(row, model) * (len(row.questions) if isinstance(row, DecisionRow) else 1)


def _check_model(value: object, model: Model) -> None:
    if not isinstance(value, str):
        raise expected("a string", value, "body.model")
    if value != model.id:
        raise row_error("other_model", "body.model", found=value[:64], model=model.id)
