"""A decision request: its body read and checked, and the window a model reads it in. Pure (000 decisions; 001)."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from anex.core.usage import Usage
from inference.catalogue.schema import Model
from inference.refusals import RowError, row_error
from inference.requests import decisions
from inference.requests.bodies import refused
from inference.requests.decisions import DecisionRow
from inference.requests.profiles import Profile

_ENGLISH: Final = frozenset({"en", "eng", "english"})
# The beginning of a state tells its script.
_READ_FOR_SCRIPT: Final = 4096
# The last letter of the Latin blocks: Latin Extended-B.
_LAST_LATIN: Final = "\u024f"
_LATIN_FURTHER: Final = ("\u1e00", "\u1eff")
# What a model may put around a question and its state.
_PER_QUESTION: Final = 64


def read(body: dict[str, Any], *, model: Model, profile: Profile) -> DecisionRow:
    """The request a body holds, or the refusal of its surface; 422 for a question that nobody could answer.

    A field beyond model, state, questions and lang is refused on every surface.
    """
    try:
        if not isinstance(body.get("state"), str | dict | None):
            raise row_error("not_a_state", "body.state")
        request = decisions.read("", body, model=model)
        for name, question in request.questions.items():
            if reason := decisions.fault_of(question):
                raise row_error("unanswerable", f"body.questions.{name[:64]}", name=name[:64], reason=reason)
    except RowError as error:
        raise refused(error, profile) from None
    return request


def single_questions(request: DecisionRow) -> list[DecisionRow]:
    """The request once per question, to be counted: a model reads the state with each of them."""
    return [
        msgspec.structs.replace(request, questions={name: question}) for name, question in request.questions.items()
    ]


def without_options(request: DecisionRow) -> DecisionRow:
    """The request with the instructions alone of each question, to be counted."""
    bare = {name: {"instructions": question["instructions"]} for name, question in request.questions.items()}
    return msgspec.structs.replace(request, questions=bare)


def tokens_read(counted: int, counted_without_options: int, model: Model) -> int:
    """What a model reads of one question: of its options no more than they may share (001, decision jobs, limits)."""
    assert model.decisions
    options = counted - counted_without_options
    return counted_without_options + min(options, model.decisions.option_tokens)


def window(request: DecisionRow, model: Model) -> int:
    """The tokens in which the model reads a question together with the state.

    `lang` settles the checkpoint, else the script of most letters of the state (reference 003, DecisionRequest).
    """
    assert model.decisions
    windows = model.decisions.checkpoints
    return windows.get("latin" if _is_latin(request) else "multilingual", model.context_tokens)


def surely_fits(request: DecisionRow, model: Model) -> bool:
    """Whether every question fits its window for certain, as a token is at least a byte: most need no counting."""
    longest = max(len(words.encode()) for words in decisions.question_texts(request))
    return len(request.text.encode()) + longest + _PER_QUESTION <= window(request, model)


def check_window(tokens: Mapping[str, int], request: DecisionRow, *, model: Model, profile: Profile) -> None:
    """Raise the 400 that names the first question past its window; `tokens` are what each reads, with the state.

    Only where the surface does not cut the state.
    """
    if profile.cuts_states:
        return
    most = window(request, model)
    for name, count in tokens.items():
        if count > most:
            facts = {"name": name[:64], "tokens": f"{count:,}", "window": f"{most:,}", "over": f"{count - most:,}"}
            raise refused(row_error("state_past_window", "body.state", **facts), profile)


def most_usage(request: DecisionRow, model: Model) -> Usage:
    """The most a request can consume: the state is read once per question, in no more than the model's context."""
    state = len(request.text.encode()) + _PER_QUESTION
    questions = decisions.question_texts(request)
    return Usage(input_tokens=sum(min(model.context_tokens, state + len(words.encode())) for words in questions))


def _is_latin(request: DecisionRow) -> bool:
    if request.lang:
        return request.lang.lower().replace("_", "-").split("-")[0] in _ENGLISH
    if request.text.isascii():
        return True
    letters = [letter for letter in request.text[:_READ_FOR_SCRIPT] if letter.isalpha()]
    low, high = _LATIN_FURTHER
    return 2 * sum(letter <= _LAST_LATIN or low <= letter <= high for letter in letters) >= len(letters)
