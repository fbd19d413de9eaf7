"""The oldest exchanges of a conversation are left out whole; the newest and the instructions never are."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.media.parts import MediaPart
from inference.requests.history import PER_MESSAGE, PER_REQUEST, trim

CALL = {"id": "call_123456789", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def say(role: str, content: object = "x", **more: object) -> dict:
    return {"role": role, "content": content, **more}


def size(*messages: dict) -> int:
    return sum(len(orjson.dumps(message)) + PER_MESSAGE for message in messages)


SYSTEM = say("system", "s" * 500)
FIRST = [say("user", "one"), say("assistant", None, tool_calls=[CALL]), say("tool", "r", tool_call_id=CALL["id"])]
SECOND = [say("user", "two"), say("assistant", "zwei — ünïcode")]
NOTE = say("developer", "d" * 300)
NEWEST = [say("user", "three"), say("assistant", None, tool_calls=[CALL]), say("tool", "r", tool_call_id=CALL["id"])]
TALK = [SYSTEM, *FIRST, *SECOND, NOTE, *NEWEST]
WHOLE = PER_REQUEST + size(*FIRST, *SECOND, *NEWEST)


@pytest.mark.parametrize(
    ("budget", "kept"),
    [
        (WHOLE, TALK),
        (WHOLE - 1, [SYSTEM, *SECOND, NOTE, *NEWEST]),
        (WHOLE - size(*FIRST), [SYSTEM, *SECOND, NOTE, *NEWEST]),
        (WHOLE - size(*FIRST) - 1, [SYSTEM, NOTE, *NEWEST]),
        (0, [SYSTEM, NOTE, *NEWEST]),
    ],
)
def test_whole_exchanges_are_kept_newest_first_while_they_fit(budget: int, kept: list[dict]) -> None:
    assert trim(TALK, (), budget) == (kept, (), len(TALK) - len(kept))


def test_an_old_short_exchange_is_not_kept_beyond_a_long_one() -> None:
    talk = [say("user", "a"), say("user", "b" * 900), say("assistant"), *NEWEST]
    assert trim([say("user"), say("assistant"), *talk], (), 600).messages == NEWEST


def test_questions_in_a_row_are_one_and_what_stands_before_them_is_the_oldest() -> None:
    talk = [say("assistant", "Hello, ask."), say("user", "context"), say("user", "question")]
    assert trim(talk, (), 0) == (talk[1:], (), 1)
    assert trim(talk, (), 10_000).dropped == 0
    assert trim([SYSTEM], (), 0) == ([SYSTEM], (), 0)


def test_pictures_go_with_their_messages_and_their_urls_count() -> None:
    pictures = tuple(
        MediaPart(
            at=f"m[{place}]", type="image_url", modality="image", format=None, url=f"https://a.test/{'p' * 200}{place}"
        )
        for place in range(3)
    )
    shown = [{"type": "text", "text": "look"}, {"type": "image_url"}]
    talk = [say("user", shown), say("assistant"), say("user", [*shown, {"type": "image_url"}]), say("assistant")]
    assert trim(talk, pictures, 0) == (talk[2:], pictures[1:], 2)
    budget = PER_REQUEST + size(*talk) + sum(len(picture.url or "") for picture in pictures)
    assert trim(talk, pictures, budget).dropped == 0
    assert trim(talk, pictures, budget - 1).dropped == 2


ROLES = st.sampled_from(["system", "user", "assistant", "tool", "developer"])


@given(st.lists(ROLES, max_size=30), st.integers(0, 4000))
def test_what_is_left_is_an_ordered_rest_that_fits_or_is_the_newest(roles: list[str], budget: int) -> None:
    talk = [say(role, f"{place} {'x' * (place % 7)}") for place, role in enumerate(roles)]
    kept, _, dropped = trim(talk, (), budget)
    assert len(kept) + dropped == len(talk)
    said, left = ([one for one in some if one["role"] not in ("system", "developer")] for some in (talk, kept))
    assert left == said[len(said) - len(left) :]
    assert kept == [one for one in talk if one in left or one not in said]
    questions = "".join("u" if one["role"] == "user" else "." for one in left)
    if PER_REQUEST + size(*left) > budget:
        assert questions.lstrip("u").count("u") == 0
    if dropped:
        assert questions.startswith("u")
