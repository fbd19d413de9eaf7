"""The lists of models say what is checked and charged, in the shapes that routers and SDKs read."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anex.core.errors import InvalidRequest
from billing.pricing import Fees, PriceCard, Rates
from inference.catalogue import Model, all_models, get
from inference.requests import chat_request, embedding_request
from inference.requests.profiles import REALTIME_V1, V1
from realtime.models import document
from realtime.models.parameters import descriptors
from realtime.models.prices import dollars

SCHEMA = json.loads((Path(__file__).parent / "provider_document.schema.json").read_text())
START = datetime(2025, 1, 1, tzinfo=UTC)
RATES = Rates(input=120_000_000, cached=30_000_000, output=600_000_000)
DEAR = Rates(input=300_000_000, output=1_500_000_000)
FEES = Fees(image=2_000_000_000, clip=200_000_000_000)


def model_named(model_id: str) -> Model:
    model = get(model_id)
    assert model
    return model


def card(model_id: str, **more: Any) -> PriceCard:
    return PriceCard(model=model_id, starts_at=START, text=RATES, **more)


def sold(models: Iterable[Model]) -> dict[str, PriceCard]:
    return {one.id: card(one.id, realtime=RATES, realtime_media=DEAR, realtime_fees=FEES) for one in models}


def test_every_model_that_could_be_sold_fits_the_provider_document() -> None:
    models = all_models()
    listed = document.provider_list(models, sold(models))
    jsonschema_rs.validator_for(SCHEMA).validate(json.loads(json.dumps(listed)))
    assert {entry["id"] for entry in listed["data"]} >= {"gemma4-12b", "nemotron-3-nano-omni-30b"}
    assert "laya" not in {entry["id"] for entry in listed["data"]}


def test_an_entry_tells_prices_limits_and_formats() -> None:
    entry = document.provider_entry(model_named("gemma4-12b"), sold([model_named("gemma4-12b")])["gemma4-12b"])
    text, image, audio, video = entry["input_modalities"]
    assert text["supported_inputs"] == {"max_context_length": {"value": 32768, "unit": "token"}}
    assert text["pricing"] == [
        {"type": "prompt", "unit": "token", "cost_usd": "0.00000012"},
        {"type": "cached_prompt", "unit": "token", "cost_usd": "0.00000003"},
    ]
    assert image["pricing"][-1] == {"type": "prompt", "unit": "image", "cost_usd": "0.000002"}
    assert [clip["supported_inputs"]["max_duration_seconds"] for clip in (audio, video)] == [30, 60]
    assert image["supported_inputs"]["max_content_size_bytes"] == 20 * 1024 * 1024
    assert (entry["object"], entry["owned_by"], entry["created"]) == ("model", "anex", int(START.timestamp()))
    assert "hugging_face_id" not in entry
    assert "capacity" not in entry


@pytest.mark.parametrize(
    ("model_id", "kinds"),
    [("gemma4-12b", ["completion", "internal_reasoning"]), ("smollm2-135m-instruct", ["completion"])],
)
def test_thinking_has_a_price_on_models_that_think(model_id: str, kinds: list[str]) -> None:
    model = model_named(model_id)
    (output,) = document.provider_entry(model, sold([model])[model_id])["output_modalities"]
    assert [price["type"] for price in output["pricing"]] == kinds


def test_what_has_no_realtime_price_is_not_offered() -> None:
    models = [model_named("gemma4-12b"), model_named("qwen3-embedding-8b"), model_named("qwen3-14b")]
    assert document.provider_list(models, {"gemma4-12b": card("gemma4-12b")}) == {"object": "list", "data": []}
    assert document.find_entry("gemma4-12b", {"gemma4-12b": models[0]}, {}) is None
    assert document.find_entry("nobody", {}, {}) is None
    assert document.find_entry("gemma4-12b", {"gemma4-12b": models[0]}, sold(models)) is not None


def test_the_realtime_api_lists_embedding_and_decision_models() -> None:
    models = [model_named(name) for name in ("gemma4-12b", "qwen3-embedding-8b", "laya")]
    listed = document.native_list(models, sold(models), REALTIME_V1)["data"]
    assert [(entry["id"], entry["object"], entry["task"]) for entry in listed] == [
        ("qwen3-embedding-8b", "model", "embed"),
        ("laya", "model", "decide"),
    ]
    assert [(entry["embedding_dims"], entry["min_embedding_dims"]) for entry in listed] == [(4096, 32), (None, None)]


@pytest.mark.parametrize("model_id", ["gemma4-12b", "nemotron-3-nano-omni-30b", "qwen3-vl-embedding-2b"])
def test_ranges_are_those_that_are_checked(model_id: str) -> None:
    model = model_named(model_id)
    base: dict[str, Any] = {"input": "a"} if model.task == "embed" else {"messages": [{"role": "user", "content": "a"}]}
    read: Any = embedding_request.read if model.task == "embed" else chat_request.read
    for name, told in descriptors(model).items():
        more = {"logprobs": True} if name == "top_logprobs" else {}
        for edge, step in (("min", -1), ("max", 1)):
            if edge in told and (name, edge) != ("repetition_penalty", "min"):
                read({**base, **more, name: told[edge]}, model=model, profile=V1)
                with pytest.raises(InvalidRequest) as refusal:
                    read({**base, **more, name: told[edge] + step}, model=model, profile=V1)
                assert refusal.value.param == name


@given(st.integers(0, 10**15))
def test_dollars_are_exact(rate: int) -> None:
    told = dollars(rate)
    assert Fraction(told) == Fraction(rate, 10**15)
    assert "e" not in told


def test_a_concurrency_limit_is_a_capacity() -> None:
    model = model_named("gemma4-12b")
    assert model.realtime
    limited = msgspec.structs.replace(model, realtime=msgspec.structs.replace(model.realtime, concurrency=16))
    entry = document.provider_entry(limited, sold([model])["gemma4-12b"])
    assert entry["capacity"] == [{"type": "concurrency", "unit": "request", "value": 16}]
