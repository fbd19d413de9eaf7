"""LangChain's standard tests of a chat model, on ChatOpenAI: every one, but those of PDFs, which no model takes."""

import os
from typing import Any, ClassVar

from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import ChatModelIntegrationTests

CHAT, MEDIA = os.environ["ANEX_CHAT_MODEL"], os.environ.get("ANEX_MEDIA_MODEL")
RIVERS = [("system", "You know every river of Europe."), ("human", "Name one.")]


class Standard(ChatModelIntegrationTests):
    """What all runs of the standard tests have in common."""

    chat_model_class = ChatOpenAI
    has_structured_output = True
    supports_json_mode = True
    supports_image_inputs = supports_image_tool_message = supports_audio_inputs = bool(MEDIA)
    # The picture of that test is on the internet; media by URL has tests of its own in tests/realtime.
    supports_image_urls = False
    supports_anthropic_inputs = True
    supports_model_override = True
    model_override_value = CHAT
    structured: ClassVar[dict[str, Any]] = {}

    @property
    def chat_model_params(self) -> dict[str, Any]:
        """A client told where the platform is; usage of streams is asked for, as LangChain does of OpenAI alone."""
        return {"model": MEDIA or CHAT, "stream_usage": True, **({} if MEDIA else {"max_tokens": 24}), **_place()}

    @property
    def structured_output_kwargs(self) -> dict[str, Any]:
        """By which means an answer takes the form of a schema."""
        return self.structured

    @property
    def supported_usage_metadata_details(self) -> dict[str, list[str]]:
        """Thinking and a cached prompt are counted by the scripted engine."""
        details = ["reasoning_output", "cache_read_input"] if MEDIA else []
        return {"invoke": details, "stream": details}

    def invoke_with_reasoning_output(self, *, stream: bool = False) -> AIMessage:
        return _ask(RIVERS, stream, reasoning_effort="low")

    def invoke_with_cache_read_input(self, *, stream: bool = False) -> AIMessage:
        _ask(RIVERS, stream)
        again = _ask(RIVERS, stream)
        assert again.usage_metadata["input_token_details"]["cache_read"] > 0
        return again


class TestByJsonSchema(Standard):
    """Structured answers by `response_format`."""

    structured = {"method": "json_schema"}


class TestByFunctionCalling(Standard):
    """Structured answers by a forced call."""

    structured = {"method": "function_calling"}


def _place() -> dict[str, Any]:
    return {"base_url": os.environ["ANEX_BASE_URL"], "api_key": os.environ["ANEX_API_KEY"], "max_retries": 0}


def _ask(prompt: Any, stream: bool, **settings: Any) -> AIMessage:
    model = ChatOpenAI(model=CHAT, stream_usage=True, **_place(), **settings)
    if not stream:
        return model.invoke(prompt)
    first, *others = model.stream(prompt)
    return sum(others, start=first)
