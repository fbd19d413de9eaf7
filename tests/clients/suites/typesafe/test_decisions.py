"""Typed decisions on both routes, as the client sends them: large bodies compressed with zstd."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
import typesafe_sdk
from typesafe_sdk import AsyncTypeSafeClient, Choice, Noul, RetryPolicy, Score, TypeSafeClient
from typesafe_sdk._core.errors import extract_message

STATE = "I was charged twice for March and still have no refund."
QUESTIONS = {
    "refund": Noul(instructions="Does the customer ask for money back?", criteria={"true": "They do", "false": None}),
    "team": Choice(
        instructions="Which team should answer?",
        criteria={"billing": "invoices and refunds", "technical": {"owns": ["bugs", "outages"]}, "sales": None},
    ),
    "anger": Score(instructions="How angry is the customer?", criteria=["calm", "annoyed", "angry"]),
}
ONCE = RetryPolicy(max_retries=0)


@pytest.fixture(params=["", "/realtime"], ids=["v1", "realtime-v1"])
def root(anex, request) -> str:
    return anex.origin + request.param


@pytest.fixture
def sent() -> list[Any]:
    """The requests that `client` sent."""
    return []


@pytest.fixture
def client(anex, root: str, sent: list[Any]) -> Iterator[TypeSafeClient]:
    http = httpx2.Client(event_hooks={"request": [sent.append]}, timeout=30)
    with TypeSafeClient(api_key=anex.key, base_url=root, model=anex.decision, retry=ONCE, http_client=http) as made:
        yield made


@pytest.mark.smoke
def test_every_type_of_question_is_answered(client, sent, anex) -> None:
    result = client.system_one(state=STATE, questions=QUESTIONS)
    assert result.model == anex.decision
    assert 0 <= result.nouls["refund"].noul <= 1
    team = result.choices["team"]
    assert team.choice == max(team.probabilities, key=team.probabilities.__getitem__)
    assert set(team.probabilities) == {"billing", "technical", "sales"}
    assert sum(team.probabilities.values()) == pytest.approx(1)
    anger = result.scores["anger"]
    assert anger.legend == {0: "calm", 1: "annoyed", 2: "angry"}
    assert anger.score == pytest.approx(sum(level * share for level, share in anger.probabilities.items()))
    assert all(0 <= answer.confidence <= 1 for answer in (team, anger))
    assert result.usage.input_tokens > 0
    assert result.usage.output_tokens == 0
    assert "content-encoding" not in sent[0].headers


@pytest.mark.smoke
def test_large_body_is_sent_compressed_and_read(client, sent, anex, root) -> None:
    state = {"subject": "Charged twice", "body": f"{STATE} " * 20}
    packed = client.system_one(state=state, questions=QUESTIONS)
    assert sent[0].headers["content-encoding"] == "zstd"
    with TypeSafeClient(api_key=anex.key, base_url=root, model=anex.decision, compression=False) as plain:
        assert plain.system_one(state=state, questions=QUESTIONS).answers == packed.answers


def test_questions_may_be_dictionaries(client) -> None:
    asked = {"q": {"type": "noul", "instructions": "Is it?"}, "질문 🎯": {"type": "noul", "instructions": "Is it?"}}
    assert set(client.system_one(state={"text": STATE}, questions=asked).nouls) == set(asked)


@pytest.mark.smoke
async def test_asynchronous_client_is_answered(anex, root) -> None:
    async with AsyncTypeSafeClient(api_key=anex.key, base_url=root, model=anex.decision, retry=ONCE) as client:
        assert (await client.system_one(state=STATE, questions=QUESTIONS)).choices["team"].choice


def test_refused_question_is_named(client) -> None:
    with pytest.raises(typesafe_sdk.TypeSafeUnprocessableEntityError, match="'odd' has no instructions"):
        client.system_one(state=STATE, questions={"odd": {"type": "choice", "criteria": {"a": None, "b": None}}})


@pytest.mark.parametrize(
    ("key", "model", "kind", "status"),
    [
        ("sk-" + "x" * 55, "scripted-decide", typesafe_sdk.TypeSafeAuthenticationError, 401),
        ("narrow", "scripted-decide", typesafe_sdk.TypeSafePermissionDeniedError, 403),
        ("poor", "scripted-decide", typesafe_sdk.TypeSafeAPIError, 402),
        ("", "nobody", typesafe_sdk.TypeSafeNotFoundError, 404),
        ("", "scripted-embed", typesafe_sdk.TypeSafeBadRequestError, 400),
    ],
)
def test_each_status_is_its_class_and_has_a_sentence(anex, root, key, model, kind, status) -> None:
    key = {"": anex.key, "narrow": anex.narrow_key, "poor": anex.poor_key}.get(key, key)
    with TypeSafeClient(api_key=key, base_url=root, model=model, retry=ONCE) as client, pytest.raises(kind) as refused:
        client.system_one(state=STATE, questions=QUESTIONS)
    assert refused.value.status == status
    assert refused.value.headers["x-request-id"]
    assert extract_message(refused.value.body)


def test_compressed_body_past_the_cap_is_refused(anex, root) -> None:
    with (
        TypeSafeClient(api_key=anex.key, base_url=root, model=anex.decision, retry=ONCE) as client,
        pytest.raises(typesafe_sdk.TypeSafeAPIError) as refused,
    ):
        client.system_one(state="a" * (33 * 1024 * 1024), questions=QUESTIONS)
    assert refused.value.status == 413
