"""The catalogue holds the facts the references give, refuses anything else, and says where a file is wrong."""

import mmap
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.checks import run_checks
from msgspec import to_builtins

from inference.catalogue import Model, all_models, get, include
from inference.catalogue.loading import CatalogueError, load
from inference.catalogue.schema import PackagedWeights
from inference.catalogue.weights import locate
from tests.models_folder import CHAT, ModelsFolder

TEXT, VISION, OMNI = ("text",), ("text", "image"), ("text", "image", "audio", "video")
CLIPS = ("text", "image", "video")

# id: task, inputs, context, output ceiling, reasoning
FACTS: dict[str, tuple[str, tuple[str, ...], int, int | None, str]] = {
    "glm-5.2": ("chat", TEXT, 32768, 32768, "budget"),
    "qwen3.8-27b": ("chat", CLIPS, 32768, 32768, "effort"),
    "qwen3.6-27b": ("chat", VISION, 32768, 32768, "budget"),
    "gemma4-31b": ("chat", VISION, 32768, 32768, "budget"),
    "gemma4-12b": ("chat", OMNI, 32768, 32768, "budget"),
    "qwen3-14b": ("chat", TEXT, 32768, 32768, "budget"),
    "nemotron-3-nano-omni-30b": ("chat", OMNI, 32768, 32768, "budget"),
    "qwen3-embedding-8b": ("embed", TEXT, 32768, None, "none"),
    "qwen3-vl-embedding-8b": ("embed", CLIPS, 32768, None, "none"),
    "qwen3-vl-embedding-2b": ("embed", CLIPS, 32768, None, "none"),
    "laya": ("decide", TEXT, 1024, None, "none"),
}
OWNER = "0f0e0d0c-0b0a-4908-8706-050403020100"
SCRIPTED = {"scripted", "scripted-media", "scripted-embed", "scripted-decide"}
LOCAL = {"smollm2-135m-instruct", "minilm-l6-v2", "minilm-decide", *SCRIPTED}


def model_named(model_id: str) -> Model:
    model = get(model_id)
    assert model is not None
    return model


def media_of(model_id: str) -> dict[str, dict[str, Any]]:
    media: dict[str, dict[str, Any]] = to_builtins(model_named(model_id).media)
    return {kind: {name: fact for name, fact in facts.items() if fact} for kind, facts in media.items() if facts}


@contextmanager
def mmap_of(path: Path) -> Iterator[mmap.mmap]:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        yield content


def test_catalogue_lists_the_eleven_models_and_the_local_ones() -> None:
    assert {model.id for model in all_models()} == set(FACTS) | LOCAL


@pytest.mark.parametrize("model_id", FACTS)
def test_reference_facts_are_carried_over(model_id: str) -> None:
    model = model_named(model_id)
    found = (model.task, model.inputs, model.context_tokens, model.max_output_tokens, model.reasoning)
    assert found == FACTS[model_id]


@pytest.mark.parametrize("model_id", FACTS)
def test_weights_nobody_published_are_unknown(model_id: str) -> None:
    assert model_named(model_id).weights is None


def test_effort_levels_and_wide_context_belong_to_one_model() -> None:
    model = model_named("qwen3.8-27b")
    assert (model.effort_levels, model.default_effort) == (("low", "medium", "xhigh"), "xhigh")
    assert model.visual_context_tokens == 131072
    published = [other for other in all_models() if other.id in FACTS]
    assert [other.id for other in published if other.effort_levels or other.visual_context_tokens] == [model.id]


def test_media_rates_and_clip_ceilings_are_the_references() -> None:
    assert media_of("qwen3.8-27b") == {
        "image": {"max_tokens": 200, "max_inline_mb": 20},
        "video": {
            "max_seconds": 120,
            "default_fps": 1,
            "max_fps": 20,
            "tokens_per_frame": 105,
            "min_frames": 2,
            "max_frames": 768,
            "max_inline_mb": 150,
        },
    }
    assert media_of("nemotron-3-nano-omni-30b") == {
        "image": {"max_tokens": 3328, "max_inline_mb": 20},
        "audio": {"max_seconds": 2400, "tokens_per_second": 12.5, "max_inline_mb": 90},
        "video": {
            "max_seconds": 60,
            "default_fps": 2,
            "max_fps": 20,
            "tokens_per_frame": 256,
            "min_frames": 2,
            "max_inline_mb": 150,
        },
    }
    assert media_of("gemma4-12b") == {
        "image": {"max_tokens": 280, "max_inline_mb": 20},
        "audio": {"max_seconds": 30, "tokens_per_second": 25, "max_inline_mb": 20},
        "video": {
            "max_seconds": 60,
            "default_fps": 1,
            "tokens_per_frame": 74,
            "min_frames": 2,
            "max_inline_mb": 150,
        },
    }
    assert media_of("gemma4-31b")["image"]["max_tokens"] == 280
    assert media_of("qwen3.6-27b")["image"]["max_tokens"] == 1280


@pytest.mark.parametrize(
    ("model_id", "native", "narrowest"),
    [
        ("qwen3-embedding-8b", 4096, 32),
        ("qwen3-vl-embedding-8b", 4096, 64),
        ("qwen3-vl-embedding-2b", 2048, 64),
        ("minilm-l6-v2", 384, 384),
    ],
)
def test_vector_widths(model_id: str, native: int, narrowest: int) -> None:
    embedding = model_named(model_id).embedding
    assert embedding is not None
    assert (embedding.dimensions, embedding.min_dimensions) == (native, narrowest)


def test_decision_limits() -> None:
    decisions = model_named("laya").decisions
    assert decisions is not None
    assert (decisions.max_questions, decisions.max_state_characters, decisions.option_tokens) == (64, 50_000, 192)
    assert decisions.checkpoints == {"latin": 512, "multilingual": 1024}


@pytest.mark.parametrize(
    ("model_id", "surfaces", "concurrency", "takes_budget"),
    [
        ("gemma4-12b", ("openai",), None, True),
        ("nemotron-3-nano-omni-30b", ("openai",), None, False),
        ("qwen3-embedding-8b", ("native",), None, False),
        ("qwen3-vl-embedding-8b", ("native",), None, False),
        ("qwen3-vl-embedding-2b", ("openai", "native"), None, False),
        ("laya", ("openai", "native"), 16, False),
    ],
)
def test_models_offered_in_realtime(
    model_id: str, surfaces: tuple[str, ...], concurrency: int | None, takes_budget: bool
) -> None:
    realtime = model_named(model_id).realtime
    assert realtime is not None
    assert (realtime.surfaces, realtime.concurrency, realtime.takes_budget) == (surfaces, concurrency, takes_budget)


def test_other_models_are_batch_only_and_chat_models_name_their_twenty_parameters() -> None:
    realtime = {model.id: model.realtime for model in all_models() if model.realtime}
    local = {"scripted", "scripted-media", "scripted-embed", "scripted-decide"}
    local |= {"smollm2-135m-instruct", "minilm-l6-v2", "minilm-decide"}
    assert len(realtime.keys() - local) == 6
    assert [len(realtime[name].parameters) for name in ("gemma4-12b", "nemotron-3-nano-omni-30b")] == [20, 20]
    assert realtime["gemma4-12b"].max_url_mib == {"image": 20, "audio": 20, "video": 32}
    assert realtime["nemotron-3-nano-omni-30b"].max_url_mib["audio"] == 32


def test_local_models_are_countable_where_rows_can_run() -> None:
    assert isinstance(model_named("smollm2-135m-instruct").weights, PackagedWeights)
    countable = {model.id for model in all_models() if model.countable}
    assert countable == {model.id for model in all_models() if model.task == "chat"} | {
        "minilm-l6-v2",
        "minilm-decide",
        "scripted-embed",
        "scripted-decide",
    }


def test_unknown_id_is_none() -> None:
    assert get("QWEN3-14B") is None


DECIDE = (
    "id: m\ntask: decide\ncontext_tokens: 2\n"
    "decisions: {max_questions: 1, max_state_characters: 1, option_tokens: 1, checkpoints: {a: 1, b: 9}}\n"
)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (CHAT + "colour: red\n", "colour"),
        (CHAT + "media: {image: {max_inline_mb: 20, colour: red}}\ninputs: [text, image]\n", "$.media.image"),
        (CHAT.replace("10", "0"), "$.context_tokens"),
        (CHAT.replace("10", "ten"), "$.context_tokens"),
        (CHAT.replace("10", "9" * 20), "$.context_tokens"),
        (CHAT + "media: {audio: {max_seconds: 1, tokens_per_second: .inf, max_inline_mb: 1}}\n", "tokens_per_second"),
        (CHAT.replace("chat", "paint"), "$.task"),
        (CHAT.replace("id: m", "id: M"), "$.id"),
        (CHAT.replace("id: m", "id: n"), "$.id"),
        (CHAT + "files: {tokenizer: /etc/passwd}\n", "$.files.tokenizer"),
        (CHAT + "regions: []\n", "$.regions"),
        (CHAT + "organization: acme\n", "$.organization"),
        (CHAT + "realtime: {surfaces: []}\n", "$.realtime.surfaces"),
        (DECIDE.replace("2", "3"), "context_tokens is the widest window"),
        (CHAT + "tokenizer: gguf\n", "tokenizer: gguf needs weights"),
        (CHAT + "inputs: [text, image]\n", "media must describe"),
        (CHAT + "reasoning: effort\n", "effort_levels"),
        (CHAT + "embedding: {dimensions: 4, min_dimensions: 2}\n", "embedding belongs"),
        (CHAT.replace("max_output_tokens: 5\n", ""), "max_output_tokens"),
        ("id: m\ntask: embed\ncontext_tokens: 1\nembedding: {dimensions: 4, min_dimensions: 8}\n", "$.embedding"),
        ("id: [", "m.yaml"),
        ("\x00", "m.yaml"),
    ],
)
def test_bad_file_is_refused_with_its_name_and_field(tmp_path: Path, text: str, field: str) -> None:
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(CatalogueError) as refusal:
        load([tmp_path])
    assert str(refusal.value).startswith("m.yaml: ")
    assert field in str(refusal.value)


def test_system_check_names_every_bad_file(operator: ModelsFolder) -> None:
    (operator.path / "a.yaml").write_text("id: a\n")
    operator.add("b")
    (operator.path / "c.yaml").write_text(CHAT.replace("id: m", "id: c") + "colour: red\n")
    found = [message for message in run_checks() if message.id == "inference.E001"]
    assert ["a.yaml" in found[0].msg, "c.yaml" in found[1].msg, len(found)] == [True, True, 2]


def test_system_check_misses_a_folder_that_is_none(operator: ModelsFolder) -> None:
    include(operator.path / "nowhere")
    assert [message.id for message in run_checks() if message.id and message.id.startswith("inference")] == [
        "inference.E002"
    ]


def test_model_of_the_operator_stands_beside_those_of_the_platform(operator: ModelsFolder) -> None:
    operator.add("acme-chat", organization=OWNER)
    assert model_named("acme-chat").organization == UUID(OWNER)
    assert len(all_models()) == len(FACTS) + len(LOCAL) + 1
    assert model_named("acme-chat").is_for(UUID(OWNER))
    assert not model_named("acme-chat").is_for(UUID(int=1))
    assert model_named("laya").is_for(UUID(int=1))


def test_id_that_the_platform_uses_is_refused_unless_the_file_says_that_it_replaces(operator: ModelsFolder) -> None:
    operator.add("glm-5.2")
    with pytest.raises(CatalogueError, match=r"glm-5\.2\.yaml: another file describes glm-5\.2 already"):
        all_models()
    operator.add("glm-5.2", replaces="true")
    assert model_named("glm-5.2").context_tokens == 10
    operator.add("glm-6", replaces="true")
    with pytest.raises(CatalogueError, match="there is no other glm-6 to replace"):
        all_models()


def test_files_of_a_model_must_lie_beside_it(operator: ModelsFolder) -> None:
    operator.add("acme-chat", tokenizer="file")
    with pytest.raises(CatalogueError, match=r"needs acme-chat/tokenizer\.json"):
        all_models()
    (operator.path / "acme-chat").mkdir()
    (operator.path / "acme-chat" / "tokenizer.json").write_text("{}")
    with pytest.raises(CatalogueError, match=r"needs acme-chat/chat_template\.jinja"):
        all_models()
    (operator.path / "acme-chat" / "chat_template.jinja").write_text("x")
    model = model_named("acme-chat")
    assert model.countable
    # A process that counts is sent the model, and knows no folder.
    sent = pickle.loads(pickle.dumps(model))
    assert sent.files.chat_template == operator.path / "acme-chat" / "chat_template.jinja"


def test_template_that_is_served_for_the_small_model_is_the_one_in_its_weight_file() -> None:
    model = model_named("smollm2-135m-instruct")
    template = model.files.chat_template
    assert template is not None
    assert isinstance(model.weights, PackagedWeights)
    with mmap_of(locate(model.weights)) as weights:
        assert weights.find(len(content := template.read_bytes()).to_bytes(8, "little") + content) > 0
