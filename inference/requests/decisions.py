"""A decision row: a text and typed questions about it (reference 001, decision jobs)."""

from collections.abc import Iterator
from typing import Any

import msgspec
import orjson

from inference.catalogue.schema import Model
from inference.refusals import expected, row_error, shortened

# A row's own model is never read: the job's is what answers.
FIELDS = frozenset({"state", "questions", "lang", "model"})
# What the criteria of each type of question are.
CRITERIA = {"choice": "an object of options", "noul": "an object", "score": "a list of levels"}


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
        raise row_error("unknown_field", f"body.{shortened(unknown[0])}", fields="state, questions, lang")
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


def options(question: object) -> dict[str, str]:
    """The options of a question, key to description, in their order; empty where criteria and type do not fit.

    A yes-or-no question has true and false, a score the index of each level (reference 001, question types). No
    description is an empty one; a structured one is rendered as JSON (reference 003, DecisionQuestion).
    """
    given = question if isinstance(question, dict) else {}
    match given.get("type"), given.get("criteria"):
        case "choice", dict() as criteria:
            return {key: _text(words) for key, words in criteria.items()}
        case "score", list() as criteria:
            return {str(level): _text(words) for level, words in enumerate(criteria)}
        case "noul", dict() | None as criteria:
            return {key: _text((criteria or {}).get(key)) for key in ("true", "false")}
    return {}


def fault_of(question: object) -> str | None:
    """Why a question cannot be answered as written, as the end of a sentence, or None (reference 001, question types).

    A row's questions are left to the model: whoever answers decides.
    """
    asked = question if isinstance(question, dict) else {}
    kind, instructions, criteria = asked.get("type"), asked.get("instructions"), asked.get("criteria")
    if not isinstance(instructions, str | None):
        return "has instructions that are not a string"
    if not instructions or not instructions.strip():
        return "has no instructions"
    if not isinstance(kind, str) or kind not in CRITERIA:
        return "has an unknown type: it must be choice, noul or score"
    if kind == "noul" and isinstance(criteria, dict) and (odd := sorted(criteria.keys() - {"true", "false"})):
        return f"is answered with yes or no: its criteria are keyed true and false, not {odd[0][:64]}"
    return None if options(asked) else f"needs criteria that are {CRITERIA[kind]}"


def question_texts(row: DecisionRow) -> Iterator[str]:
    """The words of each question that are read beside the state: instructions, then option keys and descriptions.

    They are what a row is billed for besides its state, once per question.
    """
    for question in row.questions.values():
        yield " ".join(_words(question))


def _words(question: object) -> Iterator[str]:
    if isinstance(question, dict):
        yield _text(question.get("instructions"))
        yield from (f"{key} {words}" for key, words in options(question).items())


def _text(value: object) -> str:
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
