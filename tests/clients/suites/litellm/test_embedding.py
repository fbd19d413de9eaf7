"""LiteLLM's embedding: order, encodings, width, refusals."""

import base64
import struct
from typing import Any

import litellm
import pytest

TEXTS = ["The Danube flows east.", "A violin has four strings."]


@pytest.fixture
def embed(place, anex) -> dict[str, Any]:
    return place(anex.embedding)


@pytest.mark.smoke
async def test_vectors_come_in_the_order_of_their_texts(embed) -> None:
    many = litellm.embedding(input=TEXTS, **embed)
    assert many.usage.prompt_tokens == many.usage.total_tokens > 0
    assert [each["index"] for each in many.data] == [0, 1]
    later = await litellm.aembedding(input=TEXTS, **embed)
    for each, again, text in zip(many.data, later.data, TEXTS, strict=True):
        (alone,) = litellm.embedding(input=[text], **embed).data
        assert each["embedding"] == pytest.approx(alone["embedding"], abs=1e-5)
        assert each["embedding"] == pytest.approx(again["embedding"], abs=1e-5)
        assert sum(value * value for value in each["embedding"]) == pytest.approx(1, abs=1e-3)


@pytest.mark.smoke
def test_encodings_hold_the_same_numbers(embed) -> None:
    (plain,) = litellm.embedding(input=TEXTS[:1], encoding_format="float", **embed).data
    (packed,) = litellm.embedding(input=TEXTS[:1], encoding_format="base64", **embed).data
    unpacked = struct.unpack(f"<{len(plain['embedding'])}f", base64.b64decode(packed["embedding"]))
    assert list(unpacked) == pytest.approx(plain["embedding"], abs=1e-6)


def test_dimensions_cut_the_vector(embed) -> None:
    # LiteLLM keeps `dimensions` from models it does not know, unless it is told.
    allowed = {"dimensions": 64, "allowed_openai_params": ["dimensions"]}
    (short,) = litellm.embedding(input=TEXTS[:1], **allowed, **embed).data
    (whole,) = litellm.embedding(input=TEXTS[:1], **embed).data
    length = sum(value * value for value in whole["embedding"][:64]) ** 0.5
    assert short["embedding"] == pytest.approx([value / length for value in whole["embedding"][:64]], abs=1e-4)


def test_token_ids_are_refused_by_name(embed) -> None:
    with pytest.raises(litellm.BadRequestError, match="input"):
        litellm.embedding(input=[[1, 2, 3]], **embed)
