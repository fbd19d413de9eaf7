"""Answers as Pydantic models, in every mode of Instructor that speaks chat completions: whole, partial, several."""

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Literal

import instructor
import openai
import pytest
from instructor import AsyncInstructor, Instructor, Mode
from instructor.core import IncompleteOutputException, InstructorRetryException
from pydantic import BaseModel, Field, field_validator

TRIP = [{"role": "system", "content": "You plan trips."}, {"role": "user", "content": "4 days in 'Rome'"}]
MODES = [Mode.TOOLS, Mode.JSON, Mode.JSON_SCHEMA, Mode.MD_JSON]
every_mode = pytest.mark.parametrize("mode", MODES, ids=[mode.name for mode in MODES])


class Trip(BaseModel):
    """Where somebody goes."""

    city: str
    days: int
    notes: list[str] = Field(default_factory=list)


class Weather(BaseModel):
    """Asks for the weather of a city."""

    city: str


class Hotel(BaseModel):
    """Books a hotel."""

    name: str
    nights: int


class Clients:
    """Instructor around OpenAI's client, in a mode."""

    def __init__(self, anex) -> None:
        self.place = {"base_url": anex.base_url, "api_key": anex.key, "max_retries": 0}
        self.model = anex.chat

    def sync(self, mode: Mode = Mode.TOOLS) -> Instructor:
        return instructor.from_openai(openai.OpenAI(**self.place), mode=mode, model=self.model)

    def later(self, mode: Mode = Mode.TOOLS) -> AsyncInstructor:
        return instructor.from_openai(openai.AsyncOpenAI(**self.place), mode=mode, model=self.model)


@pytest.fixture
def clients(anex) -> Iterator[Clients]:
    yield Clients(anex)


@every_mode
async def test_answer_is_a_model_with_the_answer_behind_it(clients, mode: Mode) -> None:
    expected = {"city": "Rome", "days": 4, "notes": []}
    trip, raw = clients.sync(mode).create_with_completion(response_model=Trip, messages=TRIP, max_retries=0)
    # Instructor makes a class of its own of the model.
    assert trip.model_dump() == expected
    assert raw.choices[0].finish_reason == "stop"
    assert bool(raw.choices[0].message.tool_calls) is (mode is Mode.TOOLS)
    assert raw.usage.total_tokens == raw.usage.prompt_tokens + raw.usage.completion_tokens > 0
    later = await clients.later(mode).create(response_model=Trip, messages=TRIP, max_retries=0)
    assert later.model_dump() == expected


@every_mode
async def test_partial_models_grow_to_the_whole(clients, mode: Mode) -> None:
    parts = list(clients.sync(mode).create_partial(response_model=Trip, messages=TRIP))
    assert parts[-1] == Trip(city="Rome", days=4)
    growing: AsyncIterator[Trip] = clients.later(mode).create_partial(response_model=Trip, messages=TRIP)
    assert [part async for part in growing][-1] == parts[-1]


@every_mode
async def test_several_models_of_one_answer(clients, mode: Mode) -> None:
    messages = [{"role": "user", "content": "4 days in 'Rome' and 3 in 'Oslo'"}]
    expected = [Trip(city="Rome", days=4), Trip(city="Oslo", days=3)]
    assert list(clients.sync(mode).create_iterable(response_model=Trip, messages=messages)) == expected
    coming = clients.later(mode).create_iterable(response_model=Trip, messages=messages)
    assert [trip async for trip in coming] == expected


def test_parallel_calls_are_models_of_several_kinds(clients) -> None:
    messages = [{"role": "user", "content": "The weather in 'Rome', and a hotel: 'Palace' for 3 nights."}]
    client = clients.sync(Mode.PARALLEL_TOOLS)
    called = list(client.create(response_model=Iterable[Weather | Hotel], messages=messages, max_retries=0))
    assert called == [Weather(city="Rome"), Hotel(name="Palace", nights=3)]


@every_mode
def test_answer_that_is_refused_is_asked_for_again(clients, mode: Mode) -> None:
    tries: list[str] = []

    class Checked(Trip):
        @field_validator("city")
        @classmethod
        def only_the_second(cls, value: str) -> str:
            tries.append(value)
            if len(tries) == 1:
                raise ValueError("not this one")
            return value

    trip = clients.sync(mode).create(response_model=Checked, messages=TRIP, max_retries=2)
    assert len(tries) == 2
    assert trip.city == tries[1]


def test_simple_types(clients) -> None:
    client = clients.sync()
    ask = {"messages": [{"role": "user", "content": "'Rome' or 'Oslo'? Take 7."}], "max_retries": 0}
    assert client.create(response_model=int, **ask) == 7
    assert client.create(response_model=Literal["Oslo", "Rome"], **ask) == "Oslo"
    assert client.create(response_model=list[str], **ask) == []


@pytest.mark.smoke
def test_schema_of_a_response_format_is_kept(clients) -> None:
    class Answer(BaseModel):
        found: bool
        kind: Literal["river", "city"]

    answer = clients.sync(Mode.JSON_SCHEMA).create(
        response_model=Answer,
        messages=[{"role": "user", "content": "Is the Danube a river?"}],
        max_tokens=64,
        max_retries=0,
    )
    assert isinstance(answer, Answer)


@pytest.mark.smoke
def test_without_a_model_the_answer_is_the_clients(clients) -> None:
    answer = clients.sync(Mode.JSON_SCHEMA).create(response_model=None, messages=TRIP, max_tokens=8)
    assert answer.choices[0].message.content
    assert 0 < answer.usage.completion_tokens <= 8


def test_answer_cut_off_is_told_as_such(clients) -> None:
    for mode in (Mode.TOOLS, Mode.JSON_SCHEMA):
        with pytest.raises(IncompleteOutputException):
            clients.sync(mode).create(response_model=Trip, messages=TRIP, max_tokens=2, max_retries=0)


@pytest.mark.smoke
def test_refusals_are_the_errors_of_the_sdk(clients) -> None:
    client = clients.sync(Mode.JSON_SCHEMA)
    with pytest.raises(InstructorRetryException) as refused:
        client.create(response_model=Trip, messages=TRIP, temperature=3, max_retries=0)
    assert isinstance(refused.value.__cause__.__cause__ or refused.value.__cause__, openai.BadRequestError)
    with pytest.raises(openai.BadRequestError) as plain:
        client.create(response_model=None, messages=TRIP, temperature=3, max_retries=0)
    assert plain.value.param == "temperature"
