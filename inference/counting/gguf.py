"""Counts tokens with the tokenizer and chat template inside a GGUF weight file, as llama.cpp does."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers

from anex.core.errors import Unavailable
from inference.catalogue.schema import PackagedWeights
from inference.catalogue.weights import locate
from inference.counting.chats import Chats
from inference.counting.template import compile_template
from inference.refusals import RowError
from inference.requests.chat import ChatRow

# Token types of a GGUF vocabulary that are matched whole in any text.
_CONTROL, _USER_DEFINED = 3, 4
# Numerals of Unicode 16, which llama.cpp's tables do not know: to it they are neither letters nor numerals.
_NEW_NUMERALS = (
    "\U00010d40-\U00010d49\U000116d0-\U000116e3\U00011bf0-\U00011bf9\U00016130-\U00016139"
    "\U00016d70-\U00016d79\U0001ccf0-\U0001ccf9\U0001e5f1-\U0001e5fa"
)
# The pre-tokenizer llama.cpp calls "smollm": each numeral alone, then GPT-2's split.
_SMOLLM = (
    rf"[\p{{N}}&&[^{_NEW_NUMERALS}]]",
    rf"'s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+| ?[\p{{N}}&&[^{_NEW_NUMERALS}]]"
    rf"| ?(?:[^\s\p{{L}}\p{{N}}]|[{_NEW_NUMERALS}])+|\s+(?!\S)|\s+",
)
_SPLITS = {"smollm": _SMOLLM}

_loading = Lock()


@dataclass(frozen=True, slots=True)
class GgufTokenizer:
    """A vocabulary of `size` tokens and the chat template it was published with."""

    tokenizer: Tokenizer
    size: int
    chats: Chats

    def count(self, rows: Sequence[ChatRow], *, model_id: str) -> list[int | RowError]:
        """Tokens of each row's rendered chat, or what the template has against it."""
        return self.chats.count(rows, model_id=model_id, count_prompts=self._count)

    def _count(self, prompts: list[str]) -> Iterable[int]:
        # Ids past the vocabulary stand for bytes it lacks; llama.cpp drops them after merging.
        known = self.size.__gt__
        encodings = self.tokenizer.encode_batch_fast(prompts, add_special_tokens=False)
        return (sum(map(known, encoding.ids)) for encoding in encodings)


def load(weights: PackagedWeights) -> GgufTokenizer:
    """The tokenizer of a packaged weight file, built once per process; `Unavailable` where the file is missing."""
    with _loading:
        return _load(weights)


@cache
def _load(weights: PackagedWeights) -> GgufTokenizer:
    # Heavy to import, and only processes that count need it.
    from gguf import GGUFReader

    fields = GGUFReader(locate(weights)).fields

    def read(key: str) -> Any:
        if (field := fields.get(f"tokenizer.{key}")) is None:
            raise Unavailable(f"The weight file {weights.file} lacks tokenizer.{key}: its tokens cannot be counted.")
        return field.contents()

    kind = read("ggml.pre")
    if read("ggml.model") != "gpt2" or kind not in _SPLITS:
        raise Unavailable(f"The tokenizer in {weights.file} ({kind}) is not one this platform can count with.")
    vocabulary: list[str] = read("ggml.tokens")
    special = [
        token
        for token, kind_of in zip(vocabulary, read("ggml.token_type"), strict=True)
        if kind_of in (_CONTROL, _USER_DEFINED)
    ]
    return GgufTokenizer(
        tokenizer=_build(vocabulary, read("ggml.merges"), special, _SPLITS[kind]),
        size=len(vocabulary),
        chats=Chats(
            template=compile_template(read("chat_template")),
            marks={f"{mark}_token": vocabulary[read(f"ggml.{mark}_token_id")] for mark in ("bos", "eos")},
            prepare=_plain,
        ),
    )


def _build(vocabulary: list[str], merges: list[str], special: list[str], splits: tuple[str, ...]) -> Tokenizer:
    lacking = sorted(set(pre_tokenizers.ByteLevel.alphabet()) - set(vocabulary))
    ids = {token: index for index, token in enumerate(vocabulary + lacking)}
    pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
    tokenizer = Tokenizer(models.BPE(vocab=ids, merges=pairs))
    steps: list[pre_tokenizers.PreTokenizer] = [pre_tokenizers.Split(Regex(split), "isolated") for split in splits]
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    return tokenizer


def _plain(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages as llama.cpp hands them to a template that takes strings only."""
    return [
        {
            **message,
            "role": "system" if message["role"] == "developer" else message["role"],
            "content": _text(message["content"]),
        }
        for message in messages
    ]


def _text(content: str | list[dict[str, Any]] | None) -> str:
    """One string; parts are joined by line ends, but empty ones in front leave none."""
    if not isinstance(content, list):
        return content or ""
    text = ""
    for part in content:
        text += ("\n" if text else "") + part["text"]
    return text
