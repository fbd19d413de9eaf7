"""The parameters of a model as descriptors: their types and ranges (reference 000, chat completions; OpenRouter 2.4).

Pure. What is told here is what `inference.requests` checks; a test holds the two together.
"""

from typing import Any, Final

from inference.catalogue.schema import Model
from inference.requests.profiles import EFFORTS

_MOST_OUTPUT: Final = 32_768

_FIXED: Final[dict[str, dict[str, Any]]] = {
    "temperature": {"type": "range", "min": 0, "max": 2},
    "top_p": {"type": "range", "min": 0, "max": 1},
    "min_p": {"type": "range", "min": 0, "max": 1},
    "frequency_penalty": {"type": "range", "min": -2, "max": 2},
    "presence_penalty": {"type": "range", "min": -2, "max": 2},
    "repetition_penalty": {"type": "range", "min": 0, "max": 2},
    "top_k": {"type": "integer", "min": 0},
    "seed": {"type": "integer"},
    "stop": {"type": "array", "max_items": 4},
    "logprobs": {"type": "boolean"},
    "top_logprobs": {"type": "integer", "min": 0, "max": 20},
    "response_format": {"type": "enum", "values": ["text", "json_object", "json_schema"]},
    "tools": {"type": "boolean"},
    "tool_choice": {"type": "enum", "values": ["auto", "required", "none", "function"]},
    "parallel_tool_calls": {"type": "boolean"},
    "reasoning": {"type": "boolean"},
    "reasoning_effort": {"type": "enum", "values": list(EFFORTS)},
    "chat_template_kwargs": {"type": "boolean"},
    "encoding_format": {"type": "enum", "values": ["float", "base64"]},
}


def descriptors(model: Model) -> dict[str, dict[str, Any]]:
    """Each parameter the model takes and its descriptor, in the order of its catalogue entry."""
    names = model.realtime.parameters if model.realtime else ()
    return {name: _descriptor(name, model) for name in names}


def longest_answer(model: Model) -> int:
    """The most tokens a request may ask for."""
    return min(model.max_output_tokens or _MOST_OUTPUT, _MOST_OUTPUT)


def _descriptor(name: str, model: Model) -> dict[str, Any]:
    if name in ("max_tokens", "max_completion_tokens"):
        return {"type": "integer", "min": 1, "max": longest_answer(model)}
    if name == "dimensions" and model.embedding:
        return {"type": "integer", "min": model.embedding.min_dimensions, "max": model.embedding.dimensions}
    return _FIXED[name]
