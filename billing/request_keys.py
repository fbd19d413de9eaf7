"""Keys under which a realtime request has its effect once: named by the client, or derived from the request. Pure.

Reference 004, retries and idempotency. A key stands for one request: the verb that admits (migration 0018) ties it to a
hold, so what became of it is what became of the hold.
"""

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal

from anex.core.errors import Conflict

HEADER: Final = "Idempotency-Key"
FIELD: Final = "idempotency_key"

# How long a key counts after its request was settled.
NAMED_S: Final = 24 * 3600
DERIVED_S: Final = 600
# How often a key of embeddings is tried: its attempts that failed were free.
MOST_TRIES: Final = 8

# What a key is for. The three ways to ask a chat model are one kind, for all of them name a turn.
Kind = Literal["chat", "embeddings"]
# The verdicts of migration 0018.
Why = Literal["key_open", "key_settled", "key_tries", "key_reused"]

_SET: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class RequestKey:
    """A key as one request brings it: `text` as errors tell it, the digests of what it names and of what is asked.

    `seconds` is how long it counts once it is settled, `tries` how often it may fail, None for without end.
    """

    text: str
    digest: str
    asked: str
    seconds: int = NAMED_S
    is_derived: bool = False
    tries: int | None = None


def is_plain(key: str) -> bool:
    """Whether a key is 1 to 64 letters, digits, `.`, `-` or `_`."""
    return _SET.fullmatch(key) is not None


def fold(key: str) -> str:
    """The key, or its SHA-256 for one outside the set: the same key is the same request all the same."""
    return key if is_plain(key) else sha256(key.encode(errors="surrogatepass")).hexdigest()


def digest(key: str, kind: Kind) -> str:
    """Under which a folded key is found, in hex: what a customer names is not ours to read."""
    return sha256(f"{kind}:{key}".encode()).hexdigest()


def named(key: str, kind: Kind, *, path: str, body: bytes) -> RequestKey:
    """The key that a client names for a request to a path."""
    text = fold(key)
    tries = MOST_TRIES if kind == "embeddings" else None
    return RequestKey(text, digest(text, kind), _asked(path, body), tries=tries)


def derived(key_id: str, kind: Kind, *, path: str, body: bytes) -> RequestKey:
    """The key of a request that names none: of the API key that sent it and of all it says, its model included."""
    asked = _asked(path, body)
    text = sha256(f"{key_id}:{asked}".encode()).hexdigest()
    return RequestKey(text, digest(text, kind), asked, seconds=DERIVED_S, is_derived=True)


class KeyTaken(Conflict):
    """409: the key stands for a request already, whose hold is `source`.

    `in_flight` while that runs, `key_settled` once it is over and paid for or was tried too often,
    `idempotency_key_reused` where it asked for something else.
    """

    def __init__(self, why: Why, source: str, key: RequestKey) -> None:
        code, message = _WORDS[why]
        wait = 1 if why == "key_open" else None
        super().__init__(message, code=code, retry_after=wait, extra={"idempotency_key": key.text})
        self.source = source
        self.is_open = why == "key_open"
        self.is_reused = why == "key_reused"


_WORDS: Final[dict[Why, tuple[str, str]]] = {
    "key_open": ("in_flight", "The request with this idempotency key is being answered. Wait until it is."),
    "key_settled": (
        "key_settled",
        "The request with this idempotency key was answered and charged. Send a new request under a new key.",
    ),
    "key_tries": (
        "key_settled",
        f"The request with this idempotency key failed {MOST_TRIES} times, free of charge. Send it under a new key.",
    ),
    "key_reused": (
        "idempotency_key_reused",
        "This idempotency key was used with another request. Use a new key for a new request.",
    ),
}


def _asked(path: str, body: bytes) -> str:
    return sha256(path.encode() + b"\n" + body).hexdigest()
