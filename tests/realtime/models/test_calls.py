"""The lists of models as anybody gets them, without a key."""

import json
from pathlib import Path

import httpx
import jsonschema_rs
import openai
import pytest

from inference.models import Backend
from tests.realtime.served import Surface

SCHEMA = json.loads((Path(__file__).parent / "provider_document.schema.json").read_text())


def test_models_with_a_price_and_a_server_are_listed_for_everybody(surface: Surface) -> None:
    answer = httpx.get(f"{surface.origin}/v1/models")
    assert answer.headers["x-request-id"]
    jsonschema_rs.validator_for(SCHEMA).validate(answer.json())
    assert {entry["id"] for entry in answer.json()["data"]} == {"scripted", "scripted-media", "scripted-embed"}
    assert {model.id for model in surface.openai.models.list()} == {"scripted", "scripted-media", "scripted-embed"}
    assert surface.openai.models.retrieve("scripted").owned_by == "anex"
    for model in ("scripted-decide", "somebody/something"):
        with pytest.raises(openai.NotFoundError) as missing:
            surface.openai.models.retrieve(model)
        assert missing.value.code == "model_not_found"
    native = httpx.get(f"{surface.origin}/realtime/v1/models").json()["data"]
    assert [(entry["id"], entry["task"], entry["embedding_dims"]) for entry in native] == [
        ("scripted-decide", "decide", None),
        ("scripted-embed", "embed", 384),
    ]


def test_model_without_a_server_is_neither_listed_nor_answered(surface: Surface) -> None:
    Backend.objects.filter(model_id="scripted").update(enabled=False)
    surface.refresh()
    assert "scripted" not in {model.id for model in surface.openai.models.list()}
    refused = surface.chat()
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "unavailable")
    assert refused.headers["retry-after"]
