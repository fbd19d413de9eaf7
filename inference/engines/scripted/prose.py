"""Text that follows from a prompt and a seed alone, cut by `stop` and by a number of tokens. Pure."""

import hashlib
from dataclasses import dataclass
from typing import Any

from inference.engines.scripted.words import pieces

_WORDS = (
    "amber anchor apple april arrow autumn badge bamboo basket beacon birch blue border bottle branch bridge bronze"
    " cabin canal candle canvas carbon cedar chapel cherry circle clay cliff cloud clover coast cobalt comet copper"
    " coral corner cotton crane creek crystal curve dawn delta desert dune eagle earth echo ember engine fable falcon"
    " feather fern field flame flint forest fossil fountain garden ginger glacier granite grape grove harbor hazel"
    " hill honey horizon island ivory jade jasmine juniper kettle lagoon lantern lemon lily linen lotus maple marble"
    " marsh meadow melon mirror mist moss mountain nectar night north oak oasis ocean olive onyx orbit orchard otter"
    " paper pearl pebble pepper pine planet plum pond prairie quartz quill rain raven reef ribbon ridge river robin"
    " rose saddle sage salt sand shadow shell silver slate snow spark spruce star stone storm summit sun temple"
    " thistle thunder timber topaz valley velvet violet walnut water willow winter wren yarrow zephyr"
)
VOCABULARY = tuple(_WORDS.split())

SHORTEST, LONGEST = 8, 40


@dataclass(frozen=True, slots=True)
class Cut:
    """What is left of a text, and why it ends: `stop` or `length`."""

    text: str
    tokens: int
    reason: str


def digest(*parts: Any, size: int = 64) -> bytes:
    """Bytes that follow from the parts."""
    return hashlib.shake_256("\x00".join(map(repr, parts)).encode("utf-8", "backslashreplace")).digest(size)


def sentence(key: bytes, tokens: int = 0) -> str:
    """Words of the vocabulary; `tokens` of them, or 8 to 39 as the key has it."""
    length = tokens or SHORTEST + key[0] % (LONGEST - SHORTEST)
    picks = hashlib.shake_256(key).digest(length)
    return " ".join(VOCABULARY[pick % len(VOCABULARY)] for pick in picks)


def cut(text: str, *, stop: Any, budget: int) -> Cut:
    """The text up to the first stop sequence, and at most `budget` tokens of it."""
    tokens = pieces(text)
    reason = "stop"
    if len(tokens) > budget:
        tokens, reason = tokens[:budget], "length"
        text = "".join(tokens)
    sequences = [stop] if isinstance(stop, str) else stop or []
    ends = [text.find(sequence) for sequence in sequences if isinstance(sequence, str) and sequence in text]
    if ends:
        return Cut(text[: min(ends)], len(pieces(text[: min(ends)])), "stop")
    return Cut(text, len(tokens), reason)
