"""Counts tokens with the files of a Hugging Face checkpoint: its tokenizer and its chat template."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from pathlib import Path
from threading import Lock

from tokenizers import Tokenizer

from anex.core.errors import Unavailable
from inference.catalogue.schema import Files
from inference.counting import contents
from inference.counting.chats import Chats
from inference.counting.template import compile_file
from inference.refusals import RowError
from inference.requests.decisions import question_texts
from inference.requests.embeddings import as_messages
from inference.requests.rows import ChatRow, DecisionRow, EmbeddingRow, Row

# The special tokens of a tokenizer_config.json that templates know by name.
_MARKS = tuple(f"{name}_token" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask"))

_loading = Lock()


@dataclass(frozen=True, slots=True)
class HfTokenizer:
    """A tokenizer that neither cuts nor pads, and the chats of a model that has a template."""

    tokenizer: Tokenizer
    chats: Chats | None

    def count(self, rows: Sequence[Row], *, model_id: str) -> list[int | RowError]:
        """Input tokens of each row, or what the chat template has against it; all rows are of one task.

        Raises `Unavailable` for chats of a model without a template.
        """
        if chats := [row for row in rows if isinstance(row, ChatRow)]:
            if self.chats is None:
                raise Unavailable(f"Model {model_id} has no chat template here: its chats cannot be counted.")
            return self.chats.count(chats, model_id=model_id, count_prompts=self._count)
        if decisions := [row for row in rows if isinstance(row, DecisionRow)]:
            return list(self._count_decisions(decisions))
        return self._count_embeddings([row for row in rows if isinstance(row, EmbeddingRow)], model_id)

    def _count(self, texts: list[str], *, add_special_tokens: bool = False) -> Iterable[int]:
        # The batch is encoded by several threads and without offsets, and no list of its ids is made.
        return map(len, self.tokenizer.encode_batch_fast(texts, add_special_tokens=add_special_tokens))

    def _count_embeddings(self, rows: list[EmbeddingRow], model_id: str) -> list[int | RowError]:
        """A text verbatim, between the special tokens that the model is given with every text; parts as a chat."""
        texts = iter(self._count([row.input for row in rows if isinstance(row.input, str)], add_special_tokens=True))
        chats = [
            ChatRow(row.custom_id, as_messages(row.input), {"add_generation_prompt": False}, None, None)
            for row in rows
            if not isinstance(row.input, str)
        ]
        if chats and self.chats is None:
            raise Unavailable(f"Model {model_id} has no chat template here: its parts cannot be counted.")
        counts = iter(self.chats.count(chats, model_id=model_id, count_prompts=self._count) if self.chats else ())
        return [next(texts) if isinstance(row.input, str) else next(counts) for row in rows]

    def _count_decisions(self, rows: list[DecisionRow]) -> Iterable[int]:
        texts = [[row.text, *question_texts(row)] for row in rows]
        counts = iter(self._count(list(chain.from_iterable(texts))))
        for _, *questions in texts:
            yield next(counts) * len(questions) + sum(islice(counts, len(questions)))


def load(files: Files) -> HfTokenizer:
    """The tokenizer of these files, built once per process; `Unavailable` where one of them cannot be used."""
    with _loading:
        return _load(files)


@cache
def _load(files: Files) -> HfTokenizer:
    if files.tokenizer is None:
        raise Unavailable("The file tokenizer.json of the model is not on this machine: its tokens cannot be counted.")
    tokenizer = _read(files.tokenizer)
    # What a checkpoint pads or cuts to is a habit of its authors; rows are counted whole.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if files.chat_template is None:
        return HfTokenizer(tokenizer, None)
    template = compile_file(files.chat_template)
    marks = _marks(files.tokenizer_config) if files.tokenizer_config else {}
    return HfTokenizer(tokenizer, Chats(template, marks, contents.taken_by(template, marks)))


def _read(path: Path) -> Tokenizer:
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # The library raises nothing narrower.
        raise Unavailable(f"The tokenizer {path} cannot be used: {error}") from error


def _marks(path: Path) -> dict[str, str]:
    try:
        config = json.loads(path.read_bytes())
        named = {mark: config[mark] for mark in _MARKS if config.get(mark) is not None}
        return {mark: token if isinstance(token, str) else token["content"] for mark, token in named.items()}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Unavailable(f"The file {path} cannot be used: {error}") from error
