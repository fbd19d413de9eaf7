"""Every request of `corpus.jsonl` and its verdict: `ok`, or the status and the field of its refusal."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from anex.core.errors import AnexError
from inference.catalogue import get
from inference.catalogue.schema import Model
from inference.requests import bodies, chat_request, chat_upstream, decision_request, decisions, embedding_request
from inference.requests.profiles import SURFACES, Profile
from inference.requests.translation import rename
from realtime.completions.protocol import COMPLETIONS
from realtime.responses.protocol import RESPONSES

TRANSLATED = {"responses": RESPONSES, "completions": COMPLETIONS}
CASES = [json.loads(line) for line in (Path(__file__).parent / "corpus.jsonl").read_text().splitlines()]


def raw(case: dict[str, Any]) -> bytes:
    if "raw" in case:
        return case["raw"].encode()
    body = case["body"]
    if isinstance(body, dict) and isinstance(body.get("state"), dict) and "repeat" in body["state"]:
        body = body | {"state": body["state"]["repeat"] * body["state"]["times"]}
    return json.dumps(body).encode()


def handle(case: dict[str, Any]) -> None:
    """What an endpoint does before it asks for money or a server."""
    profile, model = SURFACES[case["surface"]], get(case["model"])
    assert model
    body = bodies.decode(raw(case), profile=profile)
    assert bodies.model_id(body, profile=profile) == model.id
    if case["route"] in TRANSLATED:
        body, _, names, _ = TRANSLATED[case["route"]].translate(body, profile)
    else:
        names = {}
    try:
        answer(case, body, model, profile)
    except AnexError as error:
        rename(error, names)
        raise


def answer(case: dict[str, Any], body: dict[str, Any], model: Model, profile: Profile) -> None:
    if case["route"] in ("chat", *TRANSLATED):
        chat = chat_request.read(body, model=model, profile=profile)
        chat_request.check_schemas(chat, profile)
        assert chat_upstream.most_usage(chat, model).input_tokens <= model.context_tokens
        if all(part.data for part in chat.media):
            orjson.loads(chat_upstream.write(chat, served_name="m", model=model))
    elif case["route"] == "embeddings":
        embedding = embedding_request.read(body, model=model, profile=profile)
        assert embedding_request.most_usage(embedding, model).input_tokens > 0
        if all(part.data for part in embedding.media):
            places = [place for call in embedding_request.write(embedding, served_name="m") for place in call.places]
            assert sorted(places) == list(range(len(embedding.inputs)))
    else:
        decision = decision_request.read(body, model=model, profile=profile)
        assert decision_request.most_usage(decision, model).input_tokens > 0
        decisions.write(decision, served_name="m")


@pytest.mark.parametrize("case", CASES, ids=[f"{index}-{case['why']}" for index, case in enumerate(CASES)])
def test_request_gets_its_verdict(case: dict[str, Any]) -> None:
    if case["verdict"] == "ok":
        handle(case)
        return
    with pytest.raises(AnexError) as refusal:
        handle(case)
    assert (refusal.value.status, refusal.value.param) == (case["verdict"], case.get("param"))
    assert refusal.value.code in ("invalid_request", "unprocessable")
    assert "body." not in refusal.value.message
    assert len(refusal.value.message) < 400
