"""The real embedding model: its vectors are those of the published weights, what it cannot read it refuses."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anex.core.errors import Unavailable
from inference import catalogue
from inference.backends.overflow import read_overflow
from inference.catalogue.weights import locate
from inference.counting import hf
from inference.engines.minilm import conversion
from inference.requests.options import RowOptions
from inference.requests.rows import EmbeddingRow
from inference.tokens import count_rows
from tests.inference.minilm.reference import Reference
from tests.inference.minilm.server import MiniLm, needs_model
from tests.inference.scripted_server import ROOT

MODEL = catalogue.get("minilm-l6-v2")
TEXTS = (
    "I was charged twice for my March subscription.",
    "Café in Zürich, 東京! naïve façade",
    "x",
    "def f(a): return a[0] # comment",
    "the quick brown fox jumps over the lazy dog " * 20,
)

pytestmark = [pytest.mark.slow, needs_model]


def embed(encoder: MiniLm, given: object, **more: object) -> tuple[int, dict[str, Any]]:
    return encoder.post("/embeddings", {"model": "minilm-l6-v2", "input": given, **more})


def test_vectors_are_those_of_the_published_weights(encoder: MiniLm) -> None:
    tokenizer = hf.load(MODEL.files).tokenizer
    reference = Reference(locate(MODEL.weights).parent)
    status, body = embed(encoder, list(TEXTS))
    assert status == 200
    for text, made in zip(TEXTS, body["data"], strict=True):
        vector = np.array(made["embedding"])
        assert vector.shape == (384,)
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)
        assert vector @ reference.vector(tokenizer.encode(text).ids) > 0.9999


def test_a_text_is_counted_as_the_platform_counts_it_and_alone_or_not_has_one_vector(encoder: MiniLm) -> None:
    rows = [EmbeddingRow("r", text, 384) for text in TEXTS]
    counts = [usage.input_tokens for usage in count_rows(MODEL, rows, options=RowOptions())]
    alone = [embed(encoder, text)[1] for text in TEXTS]
    assert [body["usage"]["prompt_tokens"] for body in alone] == counts
    together = embed(encoder, list(reversed(TEXTS)))[1]
    assert together["usage"]["prompt_tokens"] == sum(counts)
    vectors = [made["embedding"] for made in reversed(together["data"])]
    assert vectors == [body["data"][0]["embedding"] for body in alone]


def test_the_longest_text_is_read_and_one_token_more_is_refused(encoder: MiniLm) -> None:
    status, body = embed(encoder, "word " * 254)
    assert (status, body["usage"]["prompt_tokens"]) == (200, 256)
    status, body = embed(encoder, "word " * 255)
    assert (status, body["error"]["param"]) == (400, "input")
    assert body["error"]["message"] == (
        "This model's maximum context length is 256 tokens. However, your prompt contains 257 input tokens. "
        "Please reduce the length of the input."
    )
    overflow = read_overflow(status, body, context=256, field="input")
    assert overflow is not None
    assert (overflow.code, overflow.message.count("257")) == ("context_length_exceeded", 1)


@pytest.mark.parametrize("given", ["", [], [""], 7, None, [["a"]], ["a"] * 2049])
def test_what_is_no_text_is_refused(encoder: MiniLm, given: object) -> None:
    assert embed(encoder, given)[0] == 400


def test_a_wrong_key_model_encoding_or_body_is_refused(encoder: MiniLm) -> None:
    assert encoder.post("/embeddings", {"model": "minilm-l6-v2", "input": "x"}, key="wrong")[0] == 401
    assert encoder.post("/embeddings", {"model": "other", "input": "x"})[0] == 404
    assert embed(encoder, "x", encoding_format="base64")[0] == 400
    assert encoder.post("/embeddings", ["x"])[0] == 400


def test_the_converted_weights_are_made_once_and_again_when_they_are_gone(encoder: MiniLm) -> None:
    [made] = encoder.cache.iterdir()
    before = made.stat()
    assert conversion.converted(MODEL, encoder.cache) == made
    assert made.stat().st_mtime_ns == before.st_mtime_ns
    made.unlink()
    assert conversion.converted(MODEL, encoder.cache) == made
    assert [path.name for path in encoder.cache.iterdir()] == [made.name]
    assert made.stat().st_size == before.st_size


def test_a_conversion_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str, folder: Path, target: Path) -> None:
        target.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(conversion, "_write", broken)
    with pytest.raises(OSError, match="disk full"):
        conversion.converted(MODEL, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_model_without_packaged_weights_cannot_be_converted(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="scripted-embed"):
        conversion.converted(catalogue.get("scripted-embed"), tmp_path)


def test_a_server_without_a_key_does_not_start(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "inference.engines.minilm", "--port", "1", "--cache", str(tmp_path)]
    environment = {**os.environ, "ANEX_LOCAL_ENGINE_KEY": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False, timeout=60)
    assert done.returncode == 1
    assert b"Set ANEX_LOCAL_ENGINE_KEY" in done.stderr
