"""The output cap and the thinking budget of a job, from a sample of its answers; or why it has none. Pure.

Both are tolerance bounds (`jobs.tolerance`). The cap holds thinking and answer: beside an estimated budget it keeps
room for the note that closes thinking that was cut off, and for the answer. Rows of the sample ran without a budget.
Where more than 5 % of them do not fit, no cap is promised: the job fails, saying what helps (reference 001,
failure_reason).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from inference.requests.options import ANSWER_TOKENS, NOTICE_TOKENS
from jobs import tolerance


@dataclass(frozen=True, slots=True)
class Length:
    """A sampled answer in tokens: all of it, the part that was thinking, and whether it was cut off at the limit.

    Thinking that no budget could shorten counts as answer. One that was cut off while it was thinking is all thinking.
    """

    output: int
    thinking: int = 0
    cut: bool = False

    @property
    def cut_in_thought(self) -> bool:
        """Whether the limit came before the answer began."""
        return self.cut and self.thinking > 0 and self.thinking == self.output

    @property
    def thought(self) -> float:
        """Thinking, as far as it is known to go."""
        return math.inf if self.cut_in_thought else self.thinking

    @property
    def answer(self) -> float:
        """What follows the thinking, as far as it is known to go."""
        return math.inf if self.cut else self.output - self.thinking


@dataclass(frozen=True, slots=True)
class Limits:
    """`room` is the most a row may write, `given` the customer's own cap; `budgeted`: thinking is to get a budget."""

    rows: int
    room: int
    given: int | None = None
    budgeted: bool = False


@dataclass(frozen=True, slots=True)
class Sizes:
    """Tokens per row: the cap on all output, and the budget for thinking where one was estimated."""

    output_cap: int
    reasoning_budget: int | None = None

    def written(self, length: Length) -> int:
        """What the row of a sampled answer writes under these; one that was cut off is taken to write the most."""
        if length.cut:
            return self.output_cap
        output, budget = length.output, self.reasoning_budget
        if budget is not None and length.thinking > budget:
            output -= max(0, length.thinking - budget - NOTICE_TOKENS)
        return min(output, self.output_cap)


class Misfit(Exception):
    """The rows cannot be sized; the message says what the customer can do."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def size(lengths: Sequence[Length], limits: Limits) -> Sizes:
    """The sizes of a job whose sampled answers have these lengths. Raises Misfit."""
    if not lengths:
        raise Misfit(
            "sample_failed",
            "We could not prepare a price for this job automatically: no sampled row was answered. "
            "Set max_output_tokens (and reasoning_budget or reasoning: false on a model that thinks), "
            "or check the rows on a small job first.",
        )
    if limits.given is None:
        _refuse_typical_cut(lengths, limits)
    if limits.budgeted and any(length.thinking for length in lengths):
        return _beside_thinking(lengths, limits)
    if limits.given is not None:
        return Sizes(min(limits.given, limits.room))
    if _share(lengths, [length.cut_in_thought for length in lengths]) > 1 - tolerance.SHARE:
        _refuse_reasoning(limits)
    outputs = [math.inf if length.cut else length.output for length in lengths]
    if tolerance.usual(outputs) == math.inf:
        _refuse_long_output(limits)
    return Sizes(tolerance.bound(outputs, rows=limits.rows, room=limits.room))


def _beside_thinking(lengths: Sequence[Length], limits: Limits) -> Sizes:
    room = limits.room if limits.given is None else min(limits.given, limits.room)
    answers = [length.answer for length in lengths if not length.cut_in_thought]
    thoughts = [length.thought for length in lengths if length.thinking]
    if not answers:
        _refuse_reasoning(limits)
    left = room - NOTICE_TOKENS - max(ANSWER_TOKENS, tolerance.usual(answers))
    if left < 1:
        _refuse_answers(limits, tolerance.usual(answers))
    if limits.given is None and tolerance.usual(thoughts) > left:
        _refuse_reasoning(limits)
    whole = len(lengths) >= limits.rows
    budget = tolerance.bound(thoughts, rows=len(thoughts) if whole else limits.rows, room=int(left))
    if limits.given is not None:
        return Sizes(room, budget)
    answer = tolerance.bound(answers, rows=len(answers) if whole else limits.rows, room=room)
    return Sizes(min(room, budget + NOTICE_TOKENS + max(ANSWER_TOKENS, answer)), budget)


def _share(lengths: Sequence[Length], marks: Sequence[bool]) -> float:
    return sum(marks) / len(lengths)


def _refuse_typical_cut(lengths: Sequence[Length], limits: Limits) -> None:
    if _share(lengths, [length.cut and not length.cut_in_thought for length in lengths]) >= 0.5:
        raise Misfit(
            "output_too_long",
            f"The typical answer hits the longest output allowed here ({limits.room:,} tokens) and would be cut off. "
            "Set max_output_tokens to accept cut answers, or ask for less.",
        )


def _refuse_reasoning(limits: Limits) -> NoReturn:
    raise Misfit(
        "reasoning_too_long",
        f"The model's reasoning runs too long on these rows: of the {limits.room:,} tokens that a row may write here "
        "it leaves no room for the answers of 95 % of them. Set reasoning_budget, or set reasoning to false.",
    )


def _refuse_long_output(limits: Limits) -> NoReturn:
    raise Misfit(
        "output_too_long",
        f"These rows need more output tokens than the {limits.room:,} that can be generated for each here: more than "
        "5 % of the sampled answers did not fit. Set max_output_tokens to accept cut answers, or ask for less.",
    )


def _refuse_answers(limits: Limits, answer: float) -> NoReturn:
    if limits.given is None:
        _refuse_long_output(limits)
    needed = "more" if answer == math.inf else f"{max(ANSWER_TOKENS, int(answer)):,}"
    raise Misfit(
        "answers_do_not_fit",
        f"The answers alone do not fit under max_output_tokens {limits.given:,} once thinking and the note that cuts "
        f"it off ({NOTICE_TOKENS} tokens) are reserved: they need {needed}. Raise max_output_tokens, set "
        "reasoning_budget (0 for no cap), or set reasoning to false.",
    )
