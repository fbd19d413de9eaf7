"""MiniLM inside this process: text to token ids by its own tokenizer, ids to a vector by llama.cpp."""

import importlib
import importlib.util
import secrets
from array import array
from functools import lru_cache
from pathlib import Path
from typing import Any

from anex.core.errors import Unavailable
from inference.catalogue.schema import Model
from inference.counting import hf
from inference.engines.minilm.conversion import converted

# The most positions the weights know, special tokens included.
WINDOW = 512
_REMEMBERED = 2048
_FIRST, _LAST = "[CLS]", "[SEP]"


class Encoder:
    """One text at a time: what else is asked then cannot change the last digits of its vector.

    Not for several threads at once.
    """

    def __init__(self, model: Model, cache: Path, *, threads: int) -> None:
        """Ready to read; the weights are converted into `cache` where they are not yet. Raises Unavailable."""
        self._tokenizer = hf.load(model.files).tokenizer
        self._ends = tuple(self._tokenizer.token_to_id(mark) for mark in (_FIRST, _LAST))
        self._server = _start(converted(model, cache), threads)
        self._remembered = lru_cache(_REMEMBERED)(self._embed)

    def ids(self, text: str) -> tuple[int, ...]:
        """The tokens of a text, without the two that go around it."""
        return tuple(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def vector(self, ids: tuple[int, ...]) -> "array[float]":
        """The vector of length 1 of a text of at most `WINDOW` tokens, its two special ones included."""
        return self._remembered(ids)

    def _embed(self, ids: tuple[int, ...]) -> "array[float]":
        first, last = self._ends
        answer = self._server.handle_embeddings({"input": [[first, *ids, last]]})
        if "error" in answer:
            raise RuntimeError(f"llama.cpp made no vector: {answer['error'].get('message')}")
        return array("d", answer["data"][0]["embedding"])


def _start(model: Path, threads: int) -> Any:
    """llama.cpp with the model. It listens too, on a port nobody is told, behind a key nobody has."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise Unavailable("The package xllamacpp is missing: run: pip install --no-deps -r requirements-models.txt")
    llama = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = str(model)
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [secrets.token_urlsafe()]
    params.embedding = True
    params.pooling_type = llama.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    # A text is read in one piece or not at all: a smaller batch would answer the longest ones with 500.
    params.n_ctx = params.n_batch = params.n_ubatch = WINDOW
    params.n_parallel = 1
    params.n_threads_http = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.endpoint_slots = params.ui = params.fit_params = False
    params.cache_ram_mib = 0
    params.verbosity = 1
    return llama.Server(params)
