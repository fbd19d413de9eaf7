"""Counts from the weight file equal what llama.cpp bills, row by row and, in full, for every code point."""

import json
import random
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from anex.core.usage import Usage
from inference.catalogue import Model, get
from inference.catalogue.schema import Files, PackagedWeights
from inference.catalogue.weights import locate
from inference.counting import gguf, hf
from inference.requests.rows import ChatRow as Row
from inference.requests.rows import RowError, RowOptions, parse
from inference.tokens import count_rows
from tests.sizes import sized

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="needs requirements-models.txt"),
]

Messages = list[dict[str, Any]]

TEXTS = (
    "",
    " ",
    "\n",
    "   \t \n\n  x  \r\n",
    "Say hello in French.",
    "It's the dogs' 3rd day; we'll see, they've 1,234,567.89 reasons — don't!",
    "0123456789 ½ ² Ⅻ ٣٤ 九",
    "naïve café Ångström e\u0301 \u00a0nbsp\u2003em\u200bzero",
    "漢字かな交じり文。한국어 텍스트 ไทย العربية עברית हिन्दी",
    "🙂👩‍👩‍👧‍👦🇩🇪 ☃️ 𝕏 𐍈",
    "def f(x):\n    return {k: v**2 for k, v in x.items()}  # ok\n\n\tif a<=b && c!=d: /* x */",
    '{"a": [1, 2.5e-3, null, true], "b": "\\u00e4"}',
    "<|im_end|>\n<|im_start|>assistant\nI am you.<|im_end|>",
    "<|im_start|> <|im_start|><|endoftext|> </s> <s> [INST] <file_sep><repo_name> <|im_ start|>",
    "a\u0000b \u0004\u0006.\u0013.\u0016 \u001d \ufeff \ufffd",
    "https://example.com/a_b?c=d&e=%20#frag user@example.org $HOME ~/x",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" + "!" * 40 + " " * 40 + "end",
    "MixedCASE snake_case kebab-case CamelCase ALLCAPS",
)
CALLS = [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}]
CONVERSATIONS: tuple[Messages, ...] = (
    [{"role": "user", "content": "x"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "x"}],
    [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "x"}],
    [{"role": "system", "content": ""}, {"role": "user", "content": ""}],
    [{"role": "user", "content": "x"}, {"role": "system", "content": "late"}],
    [{"role": "system", "content": "alone"}],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": ""}],
    [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
    [{"role": "user", "content": "a", "name": "bob"}],
    [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
    [{"role": "user", "content": [{"type": "text", "text": part} for part in ("", "", "x", "", "")]}],
    [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": None, "tool_calls": CALLS},
        {"role": "tool", "tool_call_id": "call_1", "content": "42"},
    ],
    [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "hm", "reasoning_content": "why", "tool_calls": CALLS},
        {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "42"}]},
        {"role": "assistant", "content": "so"},
    ],
)


# Short, because the server reads every prompt it bills.
SNIPPETS = (
    *"aZ 1\n\t.ä漢🙂½\u0000\u200b",
    "  ",
    "\r\n",
    "it's",
    " dogs",
    "12345",
    "don't",
    "<|im_end|>",
    "</s>",
    "x_y",
    "!=",
    "é\u0301",
)


def generated(pieces: Sequence[str], *, most: int, count: int) -> list[Messages]:
    """Conversations of one to three turns, each turn up to `most` pieces run together."""
    draw = random.Random(20261129)
    shapes = (("user",), ("system", "user"), ("user", "assistant", "user"), ("developer", "user"))
    return [
        [
            {"role": role, "content": "".join(draw.choices(pieces, k=draw.randint(0, most)))}
            for role in draw.choice(shapes)
        ]
        for _ in range(count)
    ]


class Llama:
    """The model server under comparison."""

    def __init__(self, address: str) -> None:
        self.address = address

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(
            self.address + path, json.dumps(body).encode(), {"Content-Type": "application/json", "Connection": "close"}
        )
        with urllib.request.urlopen(request, timeout=120) as response:
            answer: dict[str, Any] = json.load(response)
        return answer

    def billed(self, messages: Messages) -> int:
        """Input tokens an answer is billed."""
        usage = self.post("/v1/chat/completions", {"messages": messages, "max_tokens": 1})["usage"]
        return int(usage["prompt_tokens"])

    def tokenized(self, messages: Messages) -> int:
        """The same without an answer, for texts longer than a slot."""
        prompt = self.post("/apply-template", {"messages": messages})["prompt"]
        return len(self.post("/tokenize", {"content": prompt, "add_special": True, "parse_special": True})["tokens"])


@pytest.fixture(scope="module")
def model() -> Model:
    found = get("smollm2-135m-instruct")
    assert found is not None
    return found


@pytest.fixture(scope="module")
def llama(model: Model) -> Iterator[Llama]:
    assert isinstance(model.weights, PackagedWeights)
    script = Path(__file__).with_name("llama_server.py")
    command = [sys.executable, str(script), str(locate(model.weights))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        line = next((line for line in process.stdout if line.startswith("READY ")), "")
        assert line, "the server ended before it was ready"
        yield Llama(line.split()[1])
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=30)


def as_row(model: Model, messages: Messages) -> Row:
    line = {"custom_id": "r", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": messages}}
    return parse(json.dumps(line).encode(), model=model, options=RowOptions())


def counted(model: Model, conversations: Sequence[Messages]) -> list[int]:
    rows = [as_row(model, messages) for messages in conversations]
    counts = count_rows(model, rows, options=RowOptions())
    assert not [count for count in counts if isinstance(count, RowError)]
    return [count.input_tokens for count in counts if isinstance(count, Usage)]


def test_counts_equal_what_the_server_bills(model: Model, llama: Llama) -> None:
    singles: list[Messages] = [[{"role": "user", "content": text}] for text in TEXTS]
    conversations = [*singles, *CONVERSATIONS, *generated(SNIPPETS, most=8, count=sized(60, 180))]
    with ThreadPoolExecutor(4) as pool:
        billed = list(pool.map(llama.billed, conversations))
    assert counted(model, conversations) == billed


def test_same_vocabulary_and_template_as_files_of_a_checkpoint_count_the_same(model: Model, tmp_path: Path) -> None:
    assert isinstance(model.weights, PackagedWeights)
    gguf.load(model.weights).tokenizer.save(str(tmp_path / "tokenizer.json"))
    by_files = hf.load(Files(tmp_path / "tokenizer.json", None, model.files.chat_template))
    texts = [text for text in TEXTS if "\0" not in text]
    snippets = [piece for piece in SNIPPETS if "\0" not in piece]
    conversations: list[Messages] = [[{"role": "user", "content": text}] for text in texts]
    conversations += [chat for chat in generated(snippets, most=20, count=300) if chat[0]["role"] != "developer"]
    rows = [as_row(model, messages) for messages in conversations]
    facts = {"model_id": model.id, "context_tokens": model.context_tokens}
    assert by_files.count(rows, **facts) == gguf.load(model.weights).count(rows, **facts)  # type: ignore[arg-type]


def test_counts_equal_for_long_conversations(model: Model, llama: Llama) -> None:
    conversations = generated((*TEXTS, *SNIPPETS), most=60, count=sized(60, 200))
    with ThreadPoolExecutor(4) as pool:
        expected = list(pool.map(llama.tokenized, conversations))
    assert counted(model, conversations) == expected


def test_counts_equal_for_code_points(model: Model, llama: Llama) -> None:
    # All of the scripts with cases and marks, and of the large ones every eighth.
    some = (*range(0x3000), *range(0x3000, 0x20000, sized(8, 1)))
    points = [point for point in some if not 0xD800 <= point < 0xE000]
    points += [0x20000, 0x2F800, 0x30000, 0x40000, 0xC0000, 0xE0001, 0xE0100, 0xF0000, 0x10FFFF]
    texts = [
        f"a{chr(point)}b {chr(point) * 2} 1{chr(point)} .{chr(point)}.\n{chr(point)} x  {chr(point)}"
        for point in points
    ]
    conversations: list[Messages] = [
        [{"role": "user", "content": "|".join(texts[start : start + 500])}] for start in range(0, len(texts), 500)
    ]
    with ThreadPoolExecutor(4) as pool:
        expected = list(pool.map(llama.tokenized, conversations))
    assert counted(model, conversations) == expected
