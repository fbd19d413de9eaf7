"""Tool calls of the scripted engine."""

import json

import pytest


def tool(name, **properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


WEATHER = tool("get_weather", city={"type": "string"}, days={"type": "integer"})
STOCK = tool("stock_price", ticker={"type": "string"})
TOOLS = [WEATHER, STOCK]


def calls_of(body):
    calls = body["choices"][0]["message"].get("tool_calls", [])
    assert all(len(call["id"]) >= 9 for call in calls)
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls]


def test_arguments_are_copied_from_the_prompt(ask):
    body = ask.chat('The weather in "São Paulo" for 3 days?', tools=TOOLS)
    assert calls_of(body) == [("get_weather", {"city": "São Paulo", "days": 3})]
    assert body["choices"][0]["finish_reason"] == "tool_calls"
    assert body["choices"][0]["message"]["content"] is None


def test_prompt_that_names_no_tool_is_answered_in_words(ask):
    body = ask.chat("Tell me a story", tools=TOOLS)
    assert calls_of(body) == []
    assert body["choices"][0]["message"]["content"]


def test_no_tool_is_called_where_the_choice_is_none(ask):
    assert calls_of(ask.chat("The weather?", tools=TOOLS, tool_choice="none")) == []


def test_required_choice_calls_a_tool_nobody_mentioned(ask):
    body = ask.chat("Tell me a story", tools=TOOLS, tool_choice="required")
    assert calls_of(body) == [("get_weather", {"city": "text"})]
    assert body["choices"][0]["finish_reason"] == "tool_calls"


def test_named_choice_calls_that_tool_and_finishes_with_stop(ask):
    choice = {"type": "function", "function": {"name": "stock_price"}}
    body = ask.chat('The weather in "ACME"', tools=TOOLS, tool_choice=choice)
    assert calls_of(body) == [("stock_price", {"ticker": "ACME"})]
    assert body["choices"][0]["finish_reason"] == "stop"


def test_every_tool_mentioned_is_called_unless_parallel_calls_are_off(ask):
    prompt = 'The weather in "Oslo" and the stock of "ACME"'
    assert calls_of(ask.chat(prompt, tools=TOOLS)) == [
        ("get_weather", {"city": "Oslo"}),
        ("stock_price", {"ticker": "ACME"}),
    ]
    assert len(calls_of(ask.chat(prompt, tools=TOOLS, parallel_tool_calls=False))) == 1


def test_identities_of_calls_differ(ask):
    body = ask.chat("weather [[calls 3]]", tools=[WEATHER])
    assert len({call["id"] for call in body["choices"][0]["message"]["tool_calls"]}) == 3


def test_call_beyond_the_output_limit_is_cut_off(ask):
    body = ask.chat('weather in "Oslo"', tools=TOOLS, max_tokens=4)
    [call] = body["choices"][0]["message"]["tool_calls"]
    with pytest.raises(json.JSONDecodeError):
        json.loads(call["function"]["arguments"])
    assert (body["choices"][0]["finish_reason"], body["usage"]["completion_tokens"]) == ("length", 4)


def test_result_of_a_tool_is_told_and_calls_nothing_again(ask):
    history = [
        {"role": "user", "content": "The weather?"},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "tool_call_id": "call_123456", "content": "sunny"},
    ]
    body = ask.chat("", messages=history, tools=TOOLS)
    assert calls_of(body) == []
    assert "sunny" in body["choices"][0]["message"]["content"]


def test_unknown_named_tool_is_refused(ask):
    choice = {"type": "function", "function": {"name": "launch"}}
    body = {"messages": [{"role": "user", "content": "x"}], "tools": TOOLS, "tool_choice": choice}
    status, answer = ask.post("/v1/chat/completions", body)
    assert (status, answer["error"]["param"]) == (400, "tool_choice")
