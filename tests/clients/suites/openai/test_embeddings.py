"""Embeddings: order, width, and the same vector in every encoding."""

import base64
import math
import struct

import openai
import pytest

TEXTS = ["a red bicycle", "a blue car"]


def floats(text: str) -> list[float]:
    packed = base64.b64decode(text)
    return list(struct.unpack(f"<{len(packed) // 4}f", packed))


@pytest.mark.smoke
def test_vectors_come_in_order_and_are_the_same_in_every_encoding(client, anex) -> None:
    default = client.embeddings.create(model=anex.embedding, input=TEXTS)
    assert [item.index for item in default.data] == [0, 1]
    assert default.object == "list"
    assert default.usage.prompt_tokens == default.usage.total_tokens > 0
    plain = client.embeddings.create(model=anex.embedding, input=TEXTS, encoding_format="float")
    packed = client.embeddings.create(model=anex.embedding, input=TEXTS, encoding_format="base64")
    alone = client.embeddings.create(model=anex.embedding, input=TEXTS[1])
    for index, item in enumerate(default.data):
        assert math.isclose(math.hypot(*item.embedding), 1, abs_tol=1e-4)
        assert item.embedding == pytest.approx(plain.data[index].embedding, abs=1e-6)
        assert item.embedding == pytest.approx(floats(packed.data[index].embedding), abs=1e-6)
    assert alone.data[0].embedding == pytest.approx(default.data[1].embedding, abs=1e-6)


def test_dimensions_cut_the_vector_and_keep_its_length(client, anex) -> None:
    whole = client.embeddings.create(model=anex.embedding, input="a").data[0].embedding
    cut = client.embeddings.create(model=anex.embedding, input="a", dimensions=64).data[0].embedding
    assert len(cut) == 64
    length = math.hypot(*whole[:64])
    assert cut == pytest.approx([value / length for value in whole[:64]], abs=1e-6)
    with pytest.raises(openai.BadRequestError) as refused:
        client.embeddings.create(model=anex.embedding, input="a", dimensions=100_000)
    assert refused.value.param == "dimensions"


def test_content_arrays_are_one_vector_each(client, anex) -> None:
    pixel = "data:image/png;base64," + (
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    parts = [[{"type": "text", "text": "a dot"}, {"type": "image_url", "image_url": {"url": pixel}}]]
    answer = client.embeddings.create(model=anex.embedding, input=parts)
    assert len(answer.data) == 1


@pytest.mark.parametrize("given", [[1, 2, 3], [[1, 2], [3]], [], "", ["a"] * 129])
def test_what_is_not_text_is_refused(client, anex, given) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.embeddings.create(model=anex.embedding, input=given)
    assert refused.value.param.startswith("input")


def test_fields_that_change_nothing_are_taken(client, anex) -> None:
    plain = client.embeddings.create(model=anex.embedding, input="a").data[0].embedding
    assert client.embeddings.create(model=anex.embedding, input="a", user="u").data[0].embedding == plain
