"""Local media in place of what the standard tests fetch, and which of them are smoke tests."""

import os

import httpx
import media
import pytest

# What a small local model answers too, in few words: it is given no media, and calls no tool.
SMOKE = (
    "test_invoke",
    "test_astream",
    "test_stream_events_v3",
    "test_conversation",
    "test_usage_metadata",
    "test_usage_metadata_streaming",
    "test_stop_sequence",
    "test_embed_query",
    "test_aembed_documents",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the smoke tests of the standard suites, which may not be overridden."""
    for item in items:
        if item.originalname in SMOKE and item.cls.__name__ != "TestByFunctionCalling":
            item.add_marker(pytest.mark.smoke)


@pytest.fixture(autouse=True)
def local_media(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the standard tests fetch by themselves is given to them here; the client's requests go out as ever."""

    def get(url: str, **_: object) -> httpx.Response:
        return httpx.Response(200, content=media.wav() if url.endswith(".wav") else media.png())

    monkeypatch.setattr(httpx, "get", get)
    monkeypatch.setitem(os.environ, "LANGCHAIN_TESTS_USER_AGENT", "none")
