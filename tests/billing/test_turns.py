"""`GET /v1/jobs/{id}`: a realtime request after the fact, found by its id or by its key."""

import asyncio

import pytest
from django.test import Client

from accounts.models import Organization
from billing import request_keys
from tests.contract.described import judged
from tests.factories import grant_credits, make_key, make_organization
from tests.realtime.tills import USED, admit, in_django, opened

pytestmark = pytest.mark.django_db(transaction=True)


def read(key, turn_id, prefix="/v1"):
    return Client().get(f"{prefix}/jobs/{turn_id}", headers={"Authorization": key.header})


def test_request_is_read_while_it_runs_and_after_by_its_id_and_its_key():
    key, stranger = make_key(), make_key(make_organization("Globex"))
    grant_credits(Organization.objects.get(name="Acme"))
    named = request_keys.named("a key", "chat", path="/v1/chat/completions", body=b"{}")

    async def scene():
        async with opened() as till:
            with await admit(till, key, request_key=named) as meter:
                running = await in_django(read, key, meter.admitted.request_id)
                meter.report(USED)
            return meter.admitted.request_id, running

    turn_id, answer = asyncio.run(scene())
    running = answer.json()
    assert judged("getTurn", answer) == judged("getTurnOnSecond", read(key, turn_id, "/openai/v1")) == 200
    assert (running["status"], running["usage"], running["credits_charged"]) == ("running", None, None)
    told = read(key, turn_id).json()
    assert told == {
        "id": turn_id,
        "object": "job",
        "status": "answered",
        "surface": "chat",
        "model": "scripted",
        "created_at": running["created_at"],
        "completed_at": told["completed_at"],
        "duration_ms": told["duration_ms"],
        "usage": {"input_tokens": 100, "cached_tokens": 0, "output_tokens": 10},
        "credits_charged": 2,
    }
    for other in ("chat_a key", f"chat_{named.text}"):
        assert read(key, other, "/openai/v1").json() == told
    assert Client().options(f"/v1/jobs/{turn_id}", headers={"Authorization": key.header}).status_code == 405
    for unknown in ("x", "chat_another", f"req:{turn_id}", "%00", "chat_%00"):
        assert read(key, unknown).json()["error"]["code"] == "not_found"
    assert read(stranger, turn_id).status_code == read(stranger, "chat_a key").status_code == 404
