"""The client under test."""

from collections.abc import Iterator

import pytest
from openai import OpenAI


@pytest.fixture
def client(anex) -> Iterator[OpenAI]:
    with OpenAI(base_url=anex.base_url, api_key=anex.key, max_retries=0) as made:
        yield made
