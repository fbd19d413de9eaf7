"""Pydantic AI's embedder."""

import pytest
from pydantic_ai import Embedder
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
from pydantic_ai.providers.openai import OpenAIProvider

RIVERS = ["The Danube flows east.", "A violin has four strings."]


@pytest.fixture
def embedder(anex) -> Embedder:
    provider = OpenAIProvider(base_url=anex.base_url, api_key=anex.key)
    return Embedder(OpenAIEmbeddingModel(anex.embedding, provider=provider))


@pytest.mark.smoke
async def test_vectors_come_in_the_order_of_their_texts(embedder) -> None:
    many = await embedder.embed_documents(RIVERS)
    assert many.usage.input_tokens > 0
    for vector, text in zip(many.embeddings, RIVERS, strict=True):
        (alone,) = (await embedder.embed_query(text)).embeddings
        assert vector == pytest.approx(alone, abs=1e-5)
        assert sum(value * value for value in vector) == pytest.approx(1, abs=1e-3)


async def test_dimensions_cut_the_vector(embedder) -> None:
    (short,) = (await embedder.embed_query(RIVERS[0], settings={"dimensions": 64})).embeddings
    (whole,) = (await embedder.embed_query(RIVERS[0])).embeddings
    length = sum(value * value for value in whole[:64]) ** 0.5
    assert short == pytest.approx([value / length for value in whole[:64]], abs=1e-4)
