"""Counts by the files of a checkpoint: what is put to the template, what its tokenizer makes of it, what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer, models, pre_tokenizers

from anex.core.errors import Unavailable
from anex.core.usage import Usage
from inference.catalogue import get
from inference.catalogue.schema import Files
from inference.counting import contents, hf
from inference.counting.template import compile_template, render
from inference.refusals import RowError
from inference.requests.chat import ChatRow
from inference.requests.decisions import DecisionRow
from inference.requests.embeddings import EmbeddingRow
from inference.requests.options import RowOptions
from inference.tokens import count_rows

CHATML = (
    "{% for m in messages %}<s> {{ m.role }} {{ m['content'] + ' ' }}</s>\n{% endfor %}"
    "{% if add_generation_prompt %}<s> assistant{% endif %}"
)
# Walks parts, takes strings too, and walks the arguments of calls.
EITHER = (
    "{%- for m in messages %}<s> {{ m.role }}\n{%- if m.content is string %} {{ m.content }}{% else %}"
    "{% for part in m.content %}{% if part.type == 'text' %} {{ part.text }}{% else %} <{{ part.type }}>{% endif %}"
    "{% endfor %}{% endif %}{% for call in m.tool_calls or [] %} {{ call.function.name }}"
    "({% for key, value in call.function.arguments.items() %}{{ key }}={{ value | tojson }}{% endfor %}){% endfor %}"
    "{% endfor %}{% if tools is not none %}TOOLS{% endif %}{% if enable_thinking is false %} nothink{% endif %}"
)
PARTS = (
    "{% for m in messages %}{% for part in m.content %}{% if part['type'] == 'text' %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endfor %}"
)
STRICT = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "{{ m.content.strip() }}{% endfor %}"
)
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "QUJD" * 1000}}


def text(value: str) -> dict[str, str]:
    return {"type": "text", "text": value}


def prompt(source: str, messages: list[dict[str, Any]], **settings: Any) -> str:
    template = compile_template(source)
    return render(template, contents.taken_by(template, {})(messages), settings)


def chat(*messages: dict[str, Any], **settings: Any) -> ChatRow:
    return ChatRow("r", list(messages), settings, None, None)


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A tokenizer of words and marks that would cut after four tokens, with a chat template."""
    vocabulary = {word: index for index, word in enumerate(("?", "<s>", "</s>", "a", "b", "user", "assistant"))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()  # type: ignore[assignment]
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=64)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "chat_template.jinja").write_text(CHATML)
    return Files(tmp_path / "tokenizer.json", None, tmp_path / "chat_template.jinja")


def test_chat_is_counted_as_rendered_neither_cut_nor_padded(files: Files) -> None:
    rows = [chat(user("a b a b a b")), chat(user("a")), chat(user("a b"), {"role": "assistant", "content": "b"})]
    assert hf.load(files).count(rows, model_id="m") == [3 + 6 + 2, 3 + 1 + 2, 3 + 2 + 3 + 1 + 2]


def test_row_the_template_refuses_takes_none_of_the_others_with_it(files: Files, tmp_path: Path) -> None:
    (tmp_path / "strict.jinja").write_text(STRICT)
    rows = [chat(user("a b")), chat({"role": "system", "content": "a"}), chat(user("a"))]
    first, refusal, last = hf.load(Files(files.tokenizer, None, tmp_path / "strict.jinja")).count(rows, model_id="m")
    assert (first, last) == (2, 1)
    assert isinstance(refusal, RowError)
    assert (refusal.code, "no system role" in refusal.message) == ("template_refused", True)


def test_template_that_fails_as_a_program_refuses_the_row(files: Files, tmp_path: Path) -> None:
    (tmp_path / "broken.jinja").write_text("{{ 1 / messages[0].content | length }}{{ messages[1].content }}")
    rows = [chat(user("")), chat(user("a"), user("a"))]
    refusal, count = hf.load(Files(files.tokenizer, None, tmp_path / "broken.jinja")).count(rows, model_id="m")
    assert isinstance(refusal, RowError)
    assert count == 1


def test_settings_and_special_tokens_reach_the_template(files: Files, tmp_path: Path) -> None:
    template, config = tmp_path / "marks.jinja", tmp_path / "tokenizer_config.json"
    template.write_text("{{ bos_token }} {{ eos_token }} {% if reasoning_effort == 'low' %}a a a{% endif %}")
    config.write_text(json.dumps({"bos_token": "<s>", "eos_token": {"content": "</s>"}, "pad_token": None}))
    tokenizer = hf.load(Files(files.tokenizer, config, template))
    assert tokenizer.count([chat(user("a")), chat(user("a"), reasoning_effort="low")], model_id="m") == [2, 5]


def test_embedding_with_media_is_counted_as_the_chat_it_becomes(files: Files, tmp_path: Path) -> None:
    (tmp_path / "parts.jinja").write_text(EITHER + "{% if add_generation_prompt %} assistant{% endif %}")
    rows = [EmbeddingRow("r", "a b", 4), EmbeddingRow("r", [text("a"), {"type": "image_url"}], 4)]
    tokenizer = hf.load(Files(files.tokenizer, None, tmp_path / "parts.jinja"))
    assert tokenizer.count(rows, model_id="m") == [2, 4]
    with pytest.raises(Unavailable, match="no chat template"):
        hf.load(Files(files.tokenizer)).count(rows, model_id="m")


def test_embedding_text_is_counted_verbatim_with_its_special_tokens() -> None:
    model = get("minilm-l6-v2")
    assert model is not None
    texts = ["hello world", "", "Café — don't!", "word " * 600, "[SEP] [MASK]"]
    counts = count_rows(model, [EmbeddingRow("r", each, 384) for each in texts], options=RowOptions())
    assert counts == [Usage(input_tokens=2 + tokens) for tokens in (2, 0, 6, 600, 2)]


def test_decision_reads_its_state_once_per_question(files: Files) -> None:
    questions = {
        "one": {"type": "choice", "instructions": "a b", "criteria": {"a": "b", "b": None}},
        "two": {"type": "noul", "instructions": "a"},
    }
    counts = hf.load(files).count([DecisionRow("r", "a a a", questions, None)] * 2, model_id="m")
    assert counts == [2 * 3 + (2 + 2 + 1) + (1 + 2)] * 2


def test_chats_of_a_checkpoint_without_a_template_cannot_be_counted(files: Files) -> None:
    with pytest.raises(Unavailable, match="m has no chat template"):
        hf.load(Files(files.tokenizer, None, None)).count([chat(user("a"))], model_id="m")


def test_file_that_is_not_there_makes_counting_unavailable() -> None:
    with pytest.raises(Unavailable, match=r"tokenizer\.json"):
        hf.load(Files())


def test_template_that_takes_either_is_given_lists_as_the_server_gives_them() -> None:
    assert prompt(EITHER, [user("x")]) == prompt(EITHER, [user([text("x")])]) == "<s> user x"
    trims_strings = EITHER.replace("{{ m.content }}", "{{ m.content | trim }}")
    assert prompt(trims_strings, [user(" x ")]) == "<s> user  x "
    assert prompt(EITHER, [user([text("x"), text("y")])], enable_thinking=False) == "<s> user x y nothink"


def test_media_are_put_to_a_template_as_their_kind_without_their_data() -> None:
    assert prompt(EITHER, [user([PICTURE, text("x"), PICTURE])]) == "<s> user <image> x <image>"


def test_template_of_strings_gets_the_text_parts_joined_by_line_ends() -> None:
    assert prompt(STRICT, [user([text("x"), PICTURE, text("y")])]) == "x\ny"


def test_template_of_lists_gets_strings_as_a_list() -> None:
    assert prompt(PARTS, [user("x"), {"role": "assistant", "content": None, "tool_calls": []}]) == "x"


def test_arguments_of_calls_can_be_walked() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": {"y": 12345678901234567890}}'}}
    shown = prompt(EITHER, [{"role": "assistant", "content": None, "tool_calls": [call]}])
    assert shown == '<s> assistant f(x={"y": 12345678901234567890})'


def test_part_that_marks_what_an_assistant_wrote_is_rendered_as_it_stands() -> None:
    assert prompt("{% generation %}{{ messages[0].content }}{% endgeneration %}!", [user("x")]) == "x!"


messages_of_text = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant"]), "content": st.text(st.characters(codec="utf-8"))}
    ),
    min_size=1,
    max_size=4,
)


@given(messages=messages_of_text, source=st.sampled_from([CHATML, EITHER, STRICT]))
def test_prompt_is_what_plain_jinja_renders(messages: list[dict[str, Any]], source: str) -> None:
    plain = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    plain.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    expected = plain.from_string(source).render(messages=messages, tools=None, add_generation_prompt=True)
    assert prompt(source, messages) == expected
