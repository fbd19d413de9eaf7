"""Vectors come back in order, as wide as asked for and of length 1, the same in both encodings."""

import base64
import math
import struct
from typing import Any

import orjson
import pytest

from anex.core.usage import Usage
from inference.backends.faults import ServerFailed
from inference.catalogue import get
from inference.requests import embedding_request
from inference.requests.embedding_request import EmbeddingRequest
from inference.requests.profiles import V1
from realtime.embeddings import answers

IMAGE = {"type": "image_url", "image_url": {"url": "https://a.example/x.png"}}
WIDTH = 2048


def request(given: object, **more: Any) -> EmbeddingRequest:
    model = get("qwen3-vl-embedding-2b")
    assert model
    return embedding_request.read({"input": given, **more}, model=model, profile=V1)


def served(count: int, *, first: int = 0) -> dict[str, Any]:
    """A server's vectors, the last first: the Nth is 1 at its place and small elsewhere."""
    data = []
    for index in reversed(range(count)):
        vector = [0.01] * WIDTH
        vector[first + index] = 1.0
        data.append({"index": index, "embedding": vector})
    return {"data": data}


def answer(asked: EmbeddingRequest) -> dict[str, Any]:
    calls = embedding_request.write(asked, served_name="m")
    found = [(call, answers.read_vectors(served(len(call.places)), call)) for call in calls]
    return orjson.loads(answers.write(asked, found, model_id="public", usage=Usage(input_tokens=7)))


def test_vectors_follow_the_order_of_the_inputs() -> None:
    body = answer(request(["a", "b", "c"]))
    assert [entry["index"] for entry in body["data"]] == [0, 1, 2]
    assert [entry["embedding"].index(1.0) for entry in body["data"]] == [0, 1, 2]
    assert (body["model"], body["usage"]) == ("public", {"prompt_tokens": 7, "total_tokens": 7})


def test_every_encoding_is_the_same_cut_vector() -> None:
    floats = answer(request(["a"], dimensions=64))["data"][0]["embedding"]
    coded = answer(request(["a"], dimensions=64, encoding_format="base64"))["data"][0]["embedding"]
    assert struct.unpack("<64f", base64.b64decode(coded)) == pytest.approx(floats, abs=1e-6)
    assert math.hypot(*floats) == pytest.approx(1)


def test_texts_share_a_call_and_media_has_calls_of_its_own() -> None:
    asked = request([[{"type": "text", "text": "a"}], [IMAGE], [{"type": "text", "text": "b"}]])
    inputs = [item if isinstance(item, str) else None for item in asked.inputs]
    assert inputs == ["a", None, "b"]
    texts = request(["a", "b"])
    (call,) = embedding_request.write(texts, served_name="m")
    assert orjson.loads(call.body) == {"model": "m", "input": ["a", "b"], "encoding_format": "float"}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"data": None},
        {"data": [{"embedding": [1.0]}]},
        {"data": [{"embedding": [1.0]}, {"embedding": []}]},
        {"data": [{"embedding": [1.0]}, {"embedding": [None]}]},
        {"data": [{"embedding": [1.0]}, {"embedding": "AAAA"}]},
        {"data": [{"embedding": [1.0]}, 5]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]},
    ],
)
def test_half_an_answer_is_none(body: dict[str, Any]) -> None:
    (call,) = embedding_request.write(request(["a", "b"]), served_name="m")
    with pytest.raises(ServerFailed):
        answers.read_vectors(body, call)
