"""Where the platform is, for the tests of every client."""

import os
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Anex:
    """What a client has to know."""

    origin: str
    base_url: str
    key: str
    poor_key: str
    narrow_key: str
    chat: str
    embedding: str
    decision: str
    media: str


@pytest.fixture(scope="session")
def anex() -> Anex:
    told = os.environ
    return Anex(
        origin=told["ANEX_ORIGIN"],
        base_url=told["ANEX_BASE_URL"],
        key=told["ANEX_API_KEY"],
        poor_key=told["ANEX_POOR_KEY"],
        narrow_key=told["ANEX_NARROW_KEY"],
        chat=told["ANEX_CHAT_MODEL"],
        embedding=told["ANEX_EMBEDDING_MODEL"],
        decision=told["ANEX_DECISION_MODEL"],
        media=told.get("ANEX_MEDIA_MODEL", ""),
    )
