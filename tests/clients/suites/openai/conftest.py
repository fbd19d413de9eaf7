"""The client under test, and one that tells which requests it sent."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI


@pytest.fixture
def client(anex) -> Iterator[OpenAI]:
    with OpenAI(base_url=anex.base_url, api_key=anex.key, max_retries=0) as made:
        yield made


@pytest.fixture
async def async_client(anex) -> Any:
    async with AsyncOpenAI(base_url=anex.base_url, api_key=anex.key, max_retries=0) as made:
        yield made


@pytest.fixture
def sent() -> list[Any]:
    """The requests of `retrying`, in order."""
    return []


@pytest.fixture
def retrying(anex, sent: list[Any]) -> Iterator[OpenAI]:
    """A client with the retries it has by itself."""
    http = openai.DefaultHttpxClient(event_hooks={"request": [sent.append]})
    with OpenAI(base_url=anex.base_url, api_key=anex.key, http_client=http) as made:
        yield made
