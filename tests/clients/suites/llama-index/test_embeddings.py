"""OpenAILikeEmbedding: order, batches, width; and an index that is asked through it."""

from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike

TEXTS = ["The Danube flows east.", "A violin has four strings.", "Bread is baked at night."]


@pytest.fixture
def embedder(anex) -> Callable[..., OpenAILikeEmbedding]:
    place = {"model_name": anex.embedding, "api_base": anex.base_url, "api_key": anex.key, "max_retries": 0}
    return lambda **settings: OpenAILikeEmbedding(**place, **settings)


@pytest.mark.smoke
async def test_vectors_come_in_the_order_of_their_texts(embedder) -> None:
    model = embedder(embed_batch_size=2)
    many = model.get_text_embedding_batch(TEXTS)
    for vector, text in zip(many, TEXTS, strict=True):
        assert vector == pytest.approx(model.get_text_embedding(text), abs=1e-5)
        assert sum(value * value for value in vector) == pytest.approx(1, abs=1e-3)
    for vector, again in zip(many, await model.aget_text_embedding_batch(TEXTS), strict=True):
        assert vector == pytest.approx(again, abs=1e-5)
    assert await model.aget_query_embedding(TEXTS[0]) == pytest.approx(many[0], abs=1e-5)


def test_dimensions_cut_the_vector(embedder) -> None:
    short, whole = (embedder(**wide).get_text_embedding(TEXTS[0]) for wide in ({"dimensions": 64}, {}))
    length = sum(value * value for value in whole[:64]) ** 0.5
    assert short == pytest.approx([value / length for value in whole[:64]], abs=1e-4)


def settings(anex: Any) -> dict[str, Any]:
    return {"model": anex.chat, "api_base": anex.base_url, "api_key": anex.key, "is_chat_model": True}


@pytest.mark.smoke
def test_index_finds_the_text_and_asks_with_it(embedder, anex) -> None:
    index = VectorStoreIndex.from_documents([Document(text=text) for text in TEXTS], embed_model=embedder())
    engine = index.as_query_engine(llm=OpenAILike(**settings(anex), max_tokens=16), similarity_top_k=1)
    answer = engine.query(TEXTS[1])
    assert [node.text for node in answer.source_nodes] == [TEXTS[1]]
    assert answer.source_nodes[0].score == pytest.approx(1, abs=1e-3)
    assert answer.response
