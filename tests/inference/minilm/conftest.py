"""The server of MiniLM, once for these tests."""

from collections.abc import Iterator

import pytest

from tests.inference.minilm.server import MiniLm, minilm


@pytest.fixture(scope="package")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MiniLm]:
    with minilm(tmp_path_factory.mktemp("models")) as running:
        yield running
