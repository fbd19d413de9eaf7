"""Chats as prompts: a model's chat template over many rows, whatever tokenizer counts them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Template
from tokenizers import Tokenizer, models

from inference.counting.template import refused, render
from inference.refusals import RowError
from inference.requests.chat import ChatRow

Messages = list[dict[str, Any]]


# By how much normalizing can shorten a text, at most: marks that are joined with their letters.
_SHRINKS = 4
# Characters of a text that is always encoded: what is refused is mostly counted exactly too.
_ENCODED_CHARACTERS = 4_000_000


def longest_token(tokenizer: Tokenizer) -> int | None:
    """The most characters a token can stand for; None where the tokenizer knows no such bound.

    Merging pairs leaves no character out. Other models make one token of any long word, and none of spaces.
    """
    if not isinstance(tokenizer.model, models.BPE):
        return None
    return _SHRINKS * max(map(len, tokenizer.get_vocab()))


def encode_fitting(
    texts: Sequence[str],
    encode: Callable[[list[str]], Iterable[int]],
    *,
    longest_token: int | None,
    context_tokens: int,
) -> list[int]:
    """Tokens of each text, at least: one that cannot fit the context in any case is not encoded.

    For that takes up to 80 times its size in memory, and a line may have 210 MB.
    """
    if longest_token is None:
        return list(encode(list(texts)))
    most = max(_ENCODED_CHARACTERS, context_tokens * longest_token)
    counts = iter(encode([text for text in texts if len(text) <= most]))
    return [next(counts) if len(text) <= most else -(-len(text) // longest_token) for text in texts]


@dataclass(frozen=True, slots=True)
class Chats:
    """A compiled chat template, the special tokens it may name, and how its messages are put to it."""

    template: Template
    marks: dict[str, Any]
    prepare: Callable[[Messages], Messages]

    def count(
        self, rows: Sequence[ChatRow], *, model_id: str, count_prompts: Callable[[list[str]], Iterable[int]]
    ) -> list[int | RowError]:
        """Tokens of each row's rendered chat, or what the template has against it."""
        rendered = [self._render(row, model_id) for row in rows]
        counts = iter(count_prompts([prompt for prompt in rendered if isinstance(prompt, str)]))
        return [next(counts) if isinstance(prompt, str) else prompt for prompt in rendered]

    def _render(self, row: ChatRow, model_id: str) -> str | RowError:
        try:
            return render(self.template, self.prepare(row.messages), self.marks | row.chat_template_kwargs)
        except Exception as error:  # A template is a program: it may fail in any way on messages it was not made for.
            return refused(model_id, str(error))
