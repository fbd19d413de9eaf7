"""A decision row: a text and typed questions about it (reference 001, decision jobs)."""

from collections.abc import Iterator
from typing import Any

import msgspec
import orjson

from inference.catalogue.schema import Model
from inference.refusals import row_error
from inference.requests.envelope import expected

# A row's own model is never read: the job's is what answers.
FIELDS = frozenset({"state", "questions", "lang", "model"})


class DecisionRow(msgspec.Struct, frozen=True):
    """A checked row. Each question is passed on as it is: whether it can be answered is for the model to say."""

    custom_id: str
    state: str | dict[str, Any]
    questions: dict[str, Any]
    lang: str | None

    @property
    def text(self) -> str:
        """The state as the model reads it: an object as its JSON."""
        return self.state if isinstance(self.state, str) else orjson.dumps(self.state).decode()


def read(custom_id: str, body: dict[str, Any], *, model: Model) -> DecisionRow:
    """The row a body holds, or a `RowError`: the shape and the two caps; a further field is refused by its name."""
    if unknown := sorted(body.keys() - FIELDS):
        raise row_error("unknown_field", f"body.{unknown[0]}", fields="state, questions, lang")
    state, questions, lang = body.get("state"), body.get("questions"), body.get("lang")
    if not isinstance(state, str | dict):
        raise expected("a string or an object", state, "body.state")
    if not isinstance(questions, dict):
        raise expected("an object of questions", questions, "body.questions")
    if lang is not None and not isinstance(lang, str):
        raise expected("a string", lang, "body.lang")
    row = DecisionRow(custom_id, state, questions, lang.strip() or None if lang else None)
    _check_caps(row, model)
    return row


def write(row: DecisionRow, *, served_name: str) -> bytes:
    """The JSON for a System One server."""
    body: dict[str, Any] = {"model": served_name, "state": row.state, "questions": row.questions}
    return orjson.dumps(body | ({"lang": row.lang} if row.lang else {}))


def has_answer(body: dict[str, Any]) -> bool:
    """Whether a server's answer carries answers."""
    return isinstance(body.get("answers"), dict)


def question_texts(row: DecisionRow) -> Iterator[str]:
    """The words of each question that are read beside the state: instructions, then option keys and descriptions.

    They are what a row is billed for besides its state, once per question.
    """
    for question in row.questions.values():
        yield " ".join(_words(question))


def _words(question: object) -> Iterator[str]:
    if not isinstance(question, dict):
        return
    yield _text(question.get("instructions"))
    criteria = question.get("criteria")
    if question.get("type") == "noul":
        given = criteria if isinstance(criteria, dict) else {}
        yield from (f"{key} {_text(given.get(key))}" for key in ("true", "false"))
    elif isinstance(criteria, dict):
        yield from (f"{key} {_text(words)}" for key, words in criteria.items())
    elif isinstance(criteria, list):
        yield from (f"{level} {_text(words)}" for level, words in enumerate(criteria))


def _text(value: object) -> str:
    """Null is the key alone; a structured description is rendered as JSON (reference 003, DecisionQuestion)."""
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _check_caps(row: DecisionRow, model: Model) -> None:
    limits = model.decisions
    assert limits is not None
    if not row.questions:
        raise row_error("empty", "body.questions")
    if (count := len(row.questions)) > limits.max_questions:
        raise row_error("too_many_questions", "body.questions", count=count, most=limits.max_questions)
    if (length := len(row.text)) > (most := limits.max_state_characters):
        raise row_error("state_too_long", "body.state", count=f"{length:,}", most=f"{most:,}")
