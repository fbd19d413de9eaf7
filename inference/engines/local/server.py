"""Starts llama.cpp's HTTP server inside this process."""

import importlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anex.core.errors import Unavailable
from inference import catalogue
from inference.catalogue.schema import PackagedWeights
from inference.catalogue.weights import locate

MODEL_ID = "smollm2-135m-instruct"
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Settings:
    """How the server runs: `parallel` requests at a time, each with a context of its own, counted in tokens."""

    port: int
    api_key: str
    threads: int
    parallel: int
    context_per_slot: int


def weights() -> Path:
    """The weight file of the default model; Unavailable, with what to install, where it is missing."""
    model = catalogue.get(MODEL_ID)
    if model is None or not isinstance(model.weights, PackagedWeights):
        raise Unavailable(f"The catalogue names no packaged weights for {MODEL_ID}.")
    return locate(model.weights)


def start(settings: Settings) -> Any:
    """The running server, which stops when the returned object is deleted. Raises Unavailable.

    It listens on the loopback address alone and refuses requests without the key.
    """
    path = weights()
    if importlib.util.find_spec("xllamacpp") is None:
        raise Unavailable("The package xllamacpp is missing: run: pip install --no-deps -r requirements-models.txt")
    llama = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = str(path)
    params.model_alias = {MODEL_ID}
    params.hostnames = [LOOPBACK]
    params.port = settings.port
    params.api_keys = [settings.api_key]
    params.n_parallel = settings.parallel
    params.n_ctx = settings.parallel * settings.context_per_slot
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads
    params.use_jinja = True
    params.endpoint_metrics = True
    params.endpoint_slots = params.ui = params.fit_params = False
    params.cache_ram_mib = 0
    params.verbosity = 1
    return llama.Server(params)
