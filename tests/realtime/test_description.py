"""The description of the OpenAI-compatible host says what is answered."""

from typing import Any

import jsonschema_rs
import orjson
import pytest

from anex.docs import description
from realtime.sse import DONE, Parser
from tests.realtime.served import Surface

DOCUMENT: dict[str, Any] = orjson.loads(description.as_json())


def described(name: str) -> Any:
    """A judge of what a component describes."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    return jsonschema_rs.Draft202012Validator(schema)


@pytest.mark.parametrize("more", [{}, {"logprobs": True, "stream_options": {"include_usage": True}}])
def test_every_chunk_is_as_described(surface: Surface, more: dict[str, Any]) -> None:
    *chunks, end = Parser().feed(surface.chat("[[tokens 3]]", stream=True, **more).content)
    assert end == DONE
    assert chunks
    for chunk in chunks:
        described("ChatCompletionChunk").validate(orjson.loads(chunk))
    described("ChatCompletion").validate(surface.chat(**{k: v for k, v in more.items() if k == "logprobs"}).json())


def test_responses_and_completions_are_as_described(surface: Surface) -> None:
    for path, question, name in (("responses", "input", "Response"), ("completions", "prompt", "Completion")):
        body = {"model": "scripted", question: "[[tokens 3]]"}
        described(f"{name}Request").validate(body)
        described(name).validate(surface.http.post(f"/v1/{path}", json=body).json())
    asked = {"model": "scripted", "input": "hi", "stream": True}
    *events, _ = surface.http.post("/v1/responses", json=asked).text.split("\n\n")
    for event in events:
        described("ResponseEvent").validate(dict(line.split(": ", 1) for line in event.split("\n")))


def test_list_of_models_is_as_described(surface: Surface) -> None:
    listed = surface.http.get("/v1/models").json()
    assert listed["data"]
    described("ProviderModelList").validate(listed)
    described("ProviderModel").validate(surface.http.get(f"/v1/models/{listed['data'][0]['id']}").json())


def test_answers_of_the_second_surface_are_as_described(surface: Surface) -> None:
    described("CapableModelList").validate(surface.http.get("/openai/v1/models").json())
    body = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}]}
    described("ChatCompletion").validate(surface.http.post("/openai/v1/chat/completions", json=body).json())
    refused = surface.http.post("/openai/v1/chat/completions", json=body | {"reasoning_effort": "huge"})
    described("SecondError").validate(refused.json())
