"""Chats as prompts: a model's chat template over many rows, whatever tokenizer counts them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Template

from inference.counting.template import refused, render
from inference.refusals import RowError
from inference.requests.chat import ChatRow

Messages = list[dict[str, Any]]


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
