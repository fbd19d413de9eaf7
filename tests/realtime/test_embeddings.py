"""`POST /v1/embeddings` and `/realtime/v1/embeddings`: the same vector however it is asked for, in order, paid once."""

import base64
import struct

import numpy as np
import openai
import pytest

from tests.realtime.served import Surface


def test_vectors_are_the_same_in_every_encoding_and_on_both_hosts(surface: Surface) -> None:
    by_default = surface.openai.embeddings.create(model="scripted-embed", input=["a", "b"]).data
    assert [entry.index for entry in by_default] == [0, 1]
    asked = {"model": "scripted-embed", "input": ["a", "b"]}
    for path in ("/v1/embeddings", "/realtime/v1/embeddings"):
        answer = surface.http.post(path, json=asked | {"encoding_format": "float"}).json()
        for entry, other in zip(answer["data"], by_default, strict=True):
            assert entry["embedding"] == pytest.approx(other.embedding, abs=1e-6)
            assert np.linalg.norm(entry["embedding"]) == pytest.approx(1)
        coded = surface.http.post(path, json=asked | {"encoding_format": "base64"}).json()["data"][1]["embedding"]
        assert struct.unpack("<384f", base64.b64decode(coded)) == pytest.approx(by_default[1].embedding, abs=1e-6)
    records = surface.settled(5)
    assert {(record.surface, record.status, record.input_tokens) for record in records} == {
        ("embeddings", "answered", answer["usage"]["prompt_tokens"])
    }
    assert {record.amount_nano for record in records} == {40 * answer["usage"]["prompt_tokens"]}


def test_narrower_vectors_are_cut_and_scaled(surface: Surface) -> None:
    whole = surface.openai.embeddings.create(model="scripted-embed", input="a").data[0].embedding
    cut = surface.openai.embeddings.create(model="scripted-embed", input="a", dimensions=64).data[0].embedding
    assert cut == pytest.approx(np.array(whole[:64]) / np.linalg.norm(whole[:64]), abs=1e-6)


def test_what_is_not_text_is_refused_where_text_alone_is_taken(surface: Surface) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        surface.openai.embeddings.create(model="scripted-embed", input=[1, 2])
    assert refused.value.param == "input"
    content = [[{"type": "text", "text": "a"}]]
    asked = {"model": "scripted-embed", "input": content}
    assert surface.http.post("/v1/embeddings", json=asked).status_code == 200
    assert surface.http.post("/realtime/v1/embeddings", json=asked).status_code == 400


def test_server_that_fails_is_a_502_and_free(surface: Surface) -> None:
    answer = surface.http.post("/v1/embeddings", json={"model": "scripted-embed", "input": "[[drop]]"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_error")
    (record,) = surface.settled()
    assert (record.status, record.amount_nano) == ("failed", 0)
