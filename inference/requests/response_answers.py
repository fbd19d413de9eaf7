"""Answers in the shape of the Responses API: its items, and the response that holds them (reference 004). Pure."""

from collections.abc import Mapping
from typing import Any, Final

from inference.requests.responses import Echo

Item = dict[str, Any]

ID_PREFIX: Final = "resp_"
# By why an answer ended, where it is not whole.
_CUT: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}


def reasoning_item(item_id: str, thought: str) -> Item:
    """What a model thought. It stands where a summary does, which is what clients show and send back."""
    return {"id": item_id, "type": "reasoning", "summary": [summary_part(thought)], "encrypted_content": None}


def summary_part(thought: str) -> dict[str, Any]:
    """Thinking, as a part of its item."""
    return {"type": "summary_text", "text": thought}


def message_item(item_id: str, content: list[dict[str, Any]], *, status: str = "completed") -> Item:
    """What a model said."""
    return {"id": item_id, "type": "message", "role": "assistant", "status": status, "content": content}


def text_part(text: str, logprobs: list[dict[str, Any]]) -> dict[str, Any]:
    """Text, as a part of its item."""
    return {"type": "output_text", "annotations": [], "logprobs": logprobs, "text": text}


def call_item(item_id: str, call: Mapping[str, Any], *, status: str = "completed") -> Item:
    """A call as a chat has it: of a function, or of a custom tool."""
    if custom := call.get("custom"):
        named = {"call_id": call["id"], "name": custom["name"], "input": custom["input"]}
        return {"id": item_id, "type": "custom_tool_call", "status": status, **named}
    function = call["function"]
    named = {"call_id": call["id"], "name": function["name"], "arguments": function["arguments"]}
    return {"id": item_id, "type": "function_call", "status": status, **named}


def response(
    *,
    answer_id: str,
    created: int | None,
    model_id: str,
    echo: Echo,
    output: list[Item],
    reason: str | None,
    **more: Any,
) -> dict[str, Any]:
    """A response; `reason` is why the answer ended, as a chat says it, None while it has not. `more` goes over it."""
    status = "in_progress" if reason is None else "incomplete" if reason in _CUT else "completed"
    return {
        "id": answer_id,
        "object": "response",
        "created_at": created,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": {"reason": _CUT[reason]} if reason in _CUT else None,
        "model": model_id,
        "output": output,
        **echo,
        "usage": None,
        **more,
    }


def item_status(reason: str | None) -> str:
    """The status of an item of an answer that ended so."""
    return "incomplete" if reason is None or reason in _CUT else "completed"


def usage_of(usage: Mapping[str, Any]) -> dict[str, Any]:
    """A chat's usage in the words of a response."""
    details = usage.get("completion_tokens_details") or {}
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": details.get("reasoning_tokens", 0)},
        "total_tokens": usage["total_tokens"],
    }


def as_response(chat: dict[str, Any], echo: Echo) -> dict[str, Any]:
    """A whole chat answer as a response."""
    name = str(chat.get("id", "")).removeprefix("chatcmpl-").removeprefix(ID_PREFIX)
    choice = chat["choices"][0]
    message, reason = choice["message"], choice.get("finish_reason") or "stop"
    output: list[Item] = []
    if thought := message.get("reasoning_content"):
        output.append(reasoning_item(f"rs_{name}{len(output)}", thought))
    content, calls = message.get("content") or "", message.get("tool_calls") or []
    if content or not (calls or item_status(reason) == "incomplete"):
        logprobs = (choice.get("logprobs") or {}).get("content") or []
        output.append(message_item(f"msg_{name}{len(output)}", [text_part(content, logprobs)]))
    for call in calls:
        output.append(call_item(f"{'ctc' if 'custom' in call else 'fc'}_{name}{len(output)}", call))
    if output and output[-1]["type"] != "reasoning":
        output[-1]["status"] = item_status(reason)
    return response(
        answer_id=f"{ID_PREFIX}{name}",
        created=chat.get("created"),
        model_id=chat["model"],
        echo=echo,
        output=output,
        reason=reason,
        usage=usage_of(chat["usage"]) if chat.get("usage") else None,
    )
