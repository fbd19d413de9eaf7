"""`response_format`, and the helpers that parse into models."""

import json
from enum import StrEnum
from typing import Optional

import openai
import pytest
from asked import HI, says
from pydantic import BaseModel


class River(BaseModel):
    name: str
    length_km: int
    countries: list[str]


class Kind(StrEnum):
    FRESH = "fresh"
    SALT = "salt"


class Water(BaseModel):
    """With what schemas of models bring: definitions, references to itself, choices and optional values."""

    kind: Kind
    river: River | None
    depth: int | str
    flows_into: Optional["Water"] = None


SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@pytest.mark.smoke
def test_answer_follows_a_schema(client, anex) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "river", "strict": True, "schema": SCHEMA}}
    reply = client.chat.completions.create(model=anex.chat, messages=HI, response_format=wanted, max_tokens=200)
    assert isinstance(json.loads(reply.choices[0].message.content)["name"], str)


def test_json_object_is_an_object(client, anex) -> None:
    reply = client.chat.completions.create(
        model=anex.chat, messages=says("A river as JSON."), response_format={"type": "json_object"}
    )
    assert isinstance(json.loads(reply.choices[0].message.content), dict)


def test_answer_is_parsed_into_a_model(client, anex) -> None:
    asked = {"model": anex.chat, "messages": says('Tell of "Rhine".'), "response_format": River}
    assert isinstance(client.chat.completions.parse(**asked).choices[0].message.parsed, River)
    with client.chat.completions.stream(**asked) as stream:
        for _ in stream:
            pass
        assert isinstance(stream.get_final_completion().choices[0].message.parsed, River)


def test_schemas_of_nested_models_are_followed(client, anex) -> None:
    reply = client.chat.completions.parse(model=anex.chat, messages=HI, response_format=Water, max_tokens=2000)
    assert isinstance(reply.choices[0].message.parsed, Water)


def test_answer_that_is_cut_off_is_not_parsed(client, anex) -> None:
    with pytest.raises(openai.LengthFinishReasonError):
        client.chat.completions.parse(model=anex.chat, messages=HI, response_format=River, max_tokens=3)


def test_schema_that_is_none_is_refused(client, anex) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "nonsense"}}}
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model=anex.chat, messages=HI, response_format=wanted)
    assert refused.value.param.startswith("response_format")
