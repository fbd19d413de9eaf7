"""What schemathesis does besides on the realtime hosts: makes valid what no schema can say.

A valid body then has to be answered: it names a model that is there, its fields agree with each other, and media, which
nobody serves, has become text.
"""

from collections.abc import Callable
from typing import Any

import schemathesis

from tests.contract.fuzz_counts import is_valid

SECOND = "/openai"
MOST_OUTPUT, WIDEST = 4096, 384
# Thinking and an object fit into so many.
ROOM = 256
TEXT = {"type": "text", "text": "hi"}
ANY_OBJECT = {"type": "object"}


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Mends a valid body, and names a model in most of the others: else they would all be refused for it."""
    is_second = case.operation.path.startswith(SECOND)
    call = case.operation.path.removeprefix(SECOND).removeprefix("/v1").removeprefix("/")
    if call.endswith("{model}") and is_valid(case):
        case.path_parameters["model"] = "scripted"
    if call not in MODELS or not isinstance(case.body, dict):
        return
    if isinstance(case.body.get("model"), str):
        # What is left to chance may be a model of another call, for which 400 and 501 are right.
        case.body = case.body | {"model": MODELS[call] if sum(case.id.encode()) % 8 else "made-up"}
    # The second surface describes little: most is left to chance there, to be refused.
    if is_valid(case) and not (is_second and call != "embeddings" and sum(case.id.encode()) % 4):
        mend = (MEND_ON_SECOND if is_second else MEND)[call]
        case.body = mend({name: _as_integer(value) for name, value in case.body.items()})


def _as_integer(value: Any) -> Any:
    """JSON Schema takes 5.0 for an integer; nobody writes it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def mend_chat(body: dict[str, Any]) -> dict[str, Any]:
    """The messages, tools and caps of a chat, and the fields that rule each other out."""
    body["messages"] = [_message(message) for message in body["messages"]]
    for cap in ("max_tokens", "max_completion_tokens"):
        if body.get(cap) is not None:
            body[cap] = min(body[cap], MOST_OUTPUT)
    if body.get("max_tokens") is not None:
        body.pop("max_completion_tokens", None)
    if body.get("top_logprobs"):
        body["logprobs"] = True
    if reasoning := body.get("reasoning"):
        most = _as_integer(reasoning.get("max_tokens"))
        body["reasoning"] = reasoning | ({"max_tokens": min(most, MOST_OUTPUT)} if most else {})
        if reasoning.get("exclude"):
            body = {name: value for name, value in body.items() if name not in ("logprobs", "top_logprobs")}
    kwargs = body.get("chat_template_kwargs")
    if kwargs:
        body["chat_template_kwargs"] = {name: value for name, value in kwargs.items() if name != "reasoning_effort"}
    form = body.get("response_format")
    if form and "json_schema" in form and form["type"] == "json_schema":
        body["response_format"] = form | {"json_schema": form["json_schema"] | {"schema": ANY_OBJECT}}
    return _tools(body)


def _message(message: dict[str, Any]) -> dict[str, Any]:
    mended = dict(message)
    if isinstance(message.get("content"), list):
        mended["content"] = [part if part["type"] == "text" else TEXT for part in message["content"]]
    if message["role"] == "assistant":
        if message.get("tool_calls"):
            calls = message["tool_calls"]
            mended["tool_calls"] = [call | {"function": call["function"] | {"arguments": "{}"}} for call in calls]
        elif message.get("content") is None:
            mended["content"] = "hi"
    return mended


def _tools(body: dict[str, Any]) -> dict[str, Any]:
    tools, choice = body.get("tools") or [], body.get("tool_choice")
    if tools:
        body["tools"] = [tool | {"function": tool["function"] | {"parameters": ANY_OBJECT}} for tool in tools]
    if isinstance(choice, dict) and tools:
        name = {"name": tools[0]["function"]["name"]}
        body["tool_choice"] = choice | {"function": choice["function"] | name}
    elif isinstance(choice, dict) or (choice == "required" and not tools):
        body["tool_choice"] = "auto"
    return body


def mend_embedding(body: dict[str, Any]) -> dict[str, Any]:
    """A width that the model has, and text where there may be media or nothing."""
    if body.get("dimensions"):
        body["dimensions"] = max(32, min(body["dimensions"], WIDEST))
    given = body["input"]
    body["input"] = [_input(one) for one in given] or "hi" if isinstance(given, list) else given or "hi"
    return body


def _input(given: str | list[dict[str, Any]]) -> Any:
    return given or "hi" if isinstance(given, str) else [TEXT for _ in given]


def mend_decision(body: dict[str, Any]) -> dict[str, Any]:
    """Questions that can be answered: criteria after their type."""
    criteria: dict[str, Any] = {
        "choice": {"a": None, "b": "the other"},
        "score": ["low", "high"],
        "noul": {"true": "yes"},
    }
    body["questions"] = {
        name: question
        | {"instructions": question["instructions"].strip() or "why", "criteria": criteria[question["type"]]}
        for name, question in body["questions"].items()
    }
    return body


def mend_response(body: dict[str, Any]) -> dict[str, Any]:
    """What a text protocol takes beside its question; the rest is judged as that of a chat."""
    kept = ("model", "prompt", "instructions", "stream", "temperature", "top_p", "top_logprobs")
    mended = {name: body[name] for name in kept if name in body} | ({"input": "hi"} if "input" in body else {})
    for cap in ("max_tokens", "max_output_tokens"):
        if body.get(cap) is not None:
            mended[cap] = min(body[cap], MOST_OUTPUT)
    return mended


def mend_on_second(body: dict[str, Any]) -> dict[str, Any]:
    """What is left to chance there is mostly refused; this is answered."""
    mended = {name: value for name, value in body.items() if name in ("model", "stream", "reasoning_effort")}
    mended |= {name: "hi" for name in ("input", "prompt") if name in body}
    mended |= {name: max(ROOM, body[name]) for name in ("max_tokens", "max_output_tokens") if body.get(name)}
    if "messages" in body:
        mended["messages"] = [{"role": "user", "content": "hi"}]
    if body.get("tools"):
        mended |= {"tools": [{"type": "function", "name": "f"}], "tool_choice": "required"}
    elif body.get("response_format"):
        mended["response_format"] = {"type": "json_object"}
    return mended


MODELS = {
    "chat/completions": "scripted",
    "responses": "scripted",
    "completions": "scripted",
    "embeddings": "scripted-embed",
    "systemone": "scripted-decide",
}
MEND: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "chat/completions": mend_chat,
    "responses": mend_response,
    "completions": mend_response,
    "embeddings": mend_embedding,
    "systemone": mend_decision,
}
MEND_ON_SECOND = dict.fromkeys(("chat/completions", "responses", "completions"), mend_on_second) | {
    "embeddings": mend_embedding
}
