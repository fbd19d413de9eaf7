"""Legacy completions as chats: the one prompt is the user's message (reference 004, legacy completions). Pure."""

from typing import Any, Final

from inference.refusals import expected, row_error
from inference.requests.translation import Translated, shared

ID_PREFIX: Final = "cmpl-"
# What changes the meaning of an answer, and the value beside null that does not.
_REFUSED: Final[dict[str, object]] = {"suffix": "", "echo": False, "best_of": 1, "logprobs": False, "top_logprobs": 0}
# Fields of a chat that mean the same here; what else only a chat has does not.
_SHARED: Final = ("max_tokens", "n", "reasoning_effort", "response_format")
_OWN: Final = frozenset({"prompt", *_SHARED, *_REFUSED})
_NAMES: Final = {"messages": "prompt", "messages[0].content": "prompt"}


def translate(body: dict[str, Any], *, refuses_unknown: bool) -> Translated[None]:
    """The chat a body stands for, or a `RowError`."""
    prompt = _prompt(body.get("prompt"))
    for name, harmless in _REFUSED.items():
        value = body.get(name)
        if value is not None and (type(value) is not type(harmless) or value != harmless):
            raise row_error("not_supported", f"body.{name}")
    chat, ignored = shared(body, own=_OWN, refuses_unknown=refuses_unknown)
    chat |= {name: body[name] for name in _SHARED if name in body}
    return Translated(chat | {"messages": [{"role": "user", "content": prompt}]}, None, _NAMES, ignored)


def as_completion(chat: dict[str, Any]) -> dict[str, Any]:
    """A whole chat answer as a text completion; its thinking has no place there."""
    choice = chat["choices"][0]
    text = choice["message"].get("content") or ""
    shaped = {"index": 0, "text": text, "logprobs": None, "finish_reason": choice.get("finish_reason")}
    answer_id = ID_PREFIX + str(chat.get("id", "")).removeprefix("chatcmpl-").removeprefix(ID_PREFIX)
    return {**chat, "id": answer_id, "object": "text_completion", "choices": [shaped]}


def _prompt(value: object) -> str:
    if isinstance(value, list) and value:
        if isinstance(value[0], int | list):
            raise row_error("prompt_of_ids", "body.prompt")
        if len(value) > 1:
            raise row_error("several_prompts", "body.prompt")
        value = value[0]
    if not isinstance(value, str):
        raise expected("a string", value, "body.prompt")
    return value
