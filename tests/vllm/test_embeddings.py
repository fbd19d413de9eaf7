"""Embeddings on vLLM: encodings, widths, lists, and what does not fit."""

import base64
import math
import struct
from typing import Any

import httpx
import pytest

from tests.vllm.conftest import EMBED, NARROW, Platform

TEXTS = ["a red bicycle", "une bicyclette rouge", "the price of tin in 1912"]


def embed(platform: Platform, host: str = "/v1", **body: Any) -> httpx.Response:
    asked = {"model": EMBED, "input": TEXTS} | body
    return httpx.post(f"{platform.origin}{host}/embeddings", json=asked, headers=platform.headers, timeout=60)


def vectors(answer: httpx.Response) -> list[list[float]]:
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    assert [entry["index"] for entry in data] == list(range(len(data)))
    return [entry["embedding"] for entry in data]


def cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True)) / math.hypot(*one) / math.hypot(*other)


@pytest.mark.parametrize("host", ["/v1", "/realtime/v1"])
def test_vectors_are_the_servers_own_in_order_and_cost_what_it_counted(platform: Platform, host: str) -> None:
    answer = embed(platform, host)
    own = platform.direct(EMBED, "/v1/embeddings", {"model": EMBED, "input": TEXTS})
    for ours, theirs in zip(vectors(answer), own["data"], strict=True):
        assert len(ours) == 384
        assert math.hypot(*ours) == pytest.approx(1, abs=1e-3)
        assert cosine(ours, theirs["embedding"]) > 0.9999
    first, translated, another = vectors(answer)
    assert cosine(first, translated) > cosine(first, another)
    tokens = own["usage"]["prompt_tokens"]
    assert answer.json()["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}
    assert platform.bill(answer.headers["x-request-id"]) == (tokens, 0, 0, "answered")


def test_base64_holds_the_same_floats(platform: Platform) -> None:
    floats = vectors(embed(platform))
    packed = [entry["embedding"] for entry in embed(platform, encoding_format="base64").json()["data"]]
    for numbers, text in zip(floats, packed, strict=True):
        assert list(struct.unpack("<384f", base64.b64decode(text))) == pytest.approx(numbers, abs=1e-6)
    sdk = platform.openai.embeddings.create(model=EMBED, input=TEXTS)
    assert [entry.embedding for entry in sdk.data] == [pytest.approx(numbers, abs=1e-6) for numbers in floats]


def test_narrower_vectors_are_cut_and_scaled(platform: Platform) -> None:
    wide = vectors(embed(platform, model=NARROW))[0]
    narrow = vectors(embed(platform, model=NARROW, dimensions=64))[0]
    assert len(narrow) == 64
    assert math.hypot(*narrow) == pytest.approx(1)
    assert cosine(narrow, wide[:64]) > 0.9999
    assert embed(platform, dimensions=64).status_code == 400


def test_long_lists_keep_their_order(platform: Platform) -> None:
    texts = [f"number {number} of many" for number in range(128)]
    many = vectors(embed(platform, input=texts))
    alone = vectors(embed(platform, input=texts[77]))[0]
    assert max(range(128), key=lambda place: cosine(many[place], alone)) == 77
    assert embed(platform, input=[*texts, "one more"]).status_code == 400


def test_input_that_does_not_fit_is_refused_by_its_name(platform: Platform) -> None:
    for text in ("river " * 300, "river " * 3000):
        refused = embed(platform, input=["short", text])
        error = refused.json()["error"]
        assert (refused.status_code, error["code"], error["param"]) == (400, "context_length_exceeded", "input")
        assert "context length is 256 tokens. An input of this request has at least 257." in error["message"]
    assert platform.bill(refused.headers["x-request-id"]) == (0, 0, 0, "refused")
    assert embed(platform, input=[[1, 2]]).status_code == 400
