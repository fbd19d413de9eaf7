"""LangChain's standard tests of embeddings, and what they leave open.

Token ids are refused here, so `check_embedding_ctx_length=False` makes the client send the text itself.
"""

import os
from typing import Any

import openai
import pytest
from langchain_openai import OpenAIEmbeddings
from langchain_tests.integration_tests import EmbeddingsIntegrationTests

RIVERS = ["The Danube flows east.", "A violin has four strings.", "The Rhine flows north."]


def settings(**more: Any) -> dict[str, Any]:
    return {
        "model": os.environ["ANEX_EMBEDDING_MODEL"],
        "base_url": os.environ["ANEX_BASE_URL"],
        "api_key": os.environ["ANEX_API_KEY"],
        "check_embedding_ctx_length": False,
        "max_retries": 0,
        **more,
    }


class TestEmbeddings(EmbeddingsIntegrationTests):
    """The standard tests."""

    embeddings_class = OpenAIEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        """Where the platform is."""
        return settings()


@pytest.mark.smoke
def test_vectors_come_in_the_order_of_their_texts_and_have_length_one() -> None:
    model = OpenAIEmbeddings(**settings(chunk_size=2))
    many = model.embed_documents(RIVERS)
    for vector, text in zip(many, RIVERS, strict=True):
        assert sum(value * value for value in vector) == pytest.approx(1, abs=1e-3)
        assert vector == pytest.approx(model.embed_query(text), abs=1e-5)


def test_dimensions_cut_the_vector() -> None:
    whole = OpenAIEmbeddings(**settings()).embed_query(RIVERS[0])
    short = OpenAIEmbeddings(**settings(dimensions=64)).embed_query(RIVERS[0])
    length = sum(value * value for value in whole[:64]) ** 0.5
    assert short == pytest.approx([value / length for value in whole[:64]], abs=1e-4)


def test_token_ids_are_refused_by_name() -> None:
    model = OpenAIEmbeddings(**settings())
    with pytest.raises(openai.BadRequestError) as refused:
        model.client.create(input=[[1, 2, 3]], model=os.environ["ANEX_EMBEDDING_MODEL"])
    assert refused.value.param.startswith("input")
