"""LiteLLM as a client, by each of the providers it would reach such a server with."""

import os
from collections.abc import Callable
from typing import Any

import pytest

# Else it asks for a list of prices on the internet when it is imported.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

PROVIDERS = ("openai", "hosted_vllm", "litellm_proxy")


@pytest.fixture(params=PROVIDERS)
def place(anex, request: pytest.FixtureRequest) -> Callable[[str], dict[str, Any]]:
    """The arguments of a call of LiteLLM that say where a model is."""
    provider = request.param
    reached = {"api_base": anex.base_url, "api_key": anex.key, "max_retries": 0, "num_retries": 0}
    return lambda model: {"model": f"{provider}/{model}", **reached}
