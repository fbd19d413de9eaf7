"""Realtime requests as the money verbs see them: what is asked, what is settled, what may be held. Pure.

The verbs are called from synchronous services and from the asynchronous hot path alike, with these structs as JSON.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Final, Literal

import msgspec

from accounts.callers import Caller
from anex.core.errors import AnexError, NotServed, PaymentRequired, TooManyRequests
from anex.core.usage import Usage
from billing.balance import Balance
from billing.ceilings import Ceiling
from billing.pricing import NOTHING, NotSold, PriceCard, affordable_tokens, row_cost_nano
from billing.request_keys import KeyTaken, RequestKey

# How a request ended. `left`: its client went before the answer was whole. `lost` is written by the database alone.
Status = Literal["answered", "refused", "failed", "left", "lost"]

ADMIT: Final = (
    "SELECT refused, facts, crowded, verdicts FROM billing_realtime_admit_v1(%s, %s, %s, %s, %s, %s, %s::json)"
)
SETTLE: Final = "SELECT source, outcome, charged_nano FROM billing_realtime_settle_v2(%s::json)"
CONFIRM: Final = "SELECT source FROM billing_realtime_confirm_v1(%s)"
RENEW: Final = "SELECT billing_realtime_renew_v1(%s, %s)"
REAP: Final = "SELECT source FROM billing_realtime_reap_v1(%s)"

# What a process holds for longer than any statement takes to place it.
HELD: Final = (
    "SELECT source, surface, model_id, amount_nano FROM billing_hold WHERE settled_at IS NULL AND holder_id = %s"
    " AND placed_at < clock_timestamp() - make_interval(secs => %s)"
)

OPEN: Final = "SELECT FROM billing_hold WHERE source = %s AND settled_at IS NULL"

# How long a process counts as alive without a word; it renews itself far more often.
LEASE_S: Final = 30.0

# What a chat template may add: to a prompt (special tokens, notes on tools or thinking), and to each of its messages.
_OVERHEAD_TOKENS = 512
_MESSAGE_TOKENS = 32
# Of text, where a server reported nothing and nobody counted.
_BYTES_PER_TOKEN = 4


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request that asks to be admitted. `surface` is as in usage records, `plan_surface` as in plans.

    `model_limit` is how many requests of the model may be open at once, None for as many as there are. The last five
    are those of a `RequestKey`.
    """

    source: str
    plan_surface: str
    scope: str
    surface: str
    model: str
    amount: int
    model_limit: int | None = None
    request_key: str | None = None
    key_asked: str | None = None
    key_seconds: int | None = None
    key_tries: int | None = None
    key_derived: bool = False


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How one request ended: what is charged for it, and its usage record. Amounts are nano-dollars.

    `organization`, `key` and what is known of its `RequestKey` are for a hold that the database lost; without an
    organization only what it has is settled.
    """

    source: str
    organization: str | None
    key: str
    surface: str
    model: str
    amount: int
    charge: int
    status: Status
    input: int = 0
    cached: int = 0
    output: int = 0
    images: int = 0
    clips: int = 0
    video_ms: int = 0
    audio_ms: int = 0
    duration_ms: int = 0
    request_key: str | msgspec.UnsetType = msgspec.UNSET
    key_asked: str | msgspec.UnsetType = msgspec.UNSET
    key_derived: bool | msgspec.UnsetType = msgspec.UNSET


def as_json(items: Sequence[Asked] | Sequence[Ended]) -> str:
    """The argument of a verb."""
    return msgspec.json.encode(items).decode()


def unused(*, source: str, surface: str, model: str, amount: int) -> Ended:
    """The end of a hold for a request that is not going to run; the database knows whose it is, if it is there."""
    return Ended(
        source=source,
        organization=None,
        key="",
        surface=surface,
        model=model,
        amount=amount,
        charge=0,
        status="left",
    )


def key_facts(key: RequestKey | None) -> dict[str, Any]:
    """What `Asked` and `Ended` say of a key."""
    if key is None:
        return {}
    return {"request_key": key.digest, "key_asked": key.asked, "key_derived": key.is_derived}


def refusal(
    verdict: dict[str, Any],
    asked: Asked,
    caller: Caller,
    *,
    card: PriceCard,
    today: date,
    key: RequestKey | None = None,
) -> AnexError:
    """The error for a verdict that is not null; its code and extra fields serve both shapes of errors.

    KeyTaken (409) for a key that stands for another request, 403 for scope, surface and model, 402 for the balance, 429
    for a ceiling (a wait of seconds changes nothing, so it names none), for the requests in flight and for those of the
    model (with a wait of a second).
    """
    match verdict["why"]:
        case "key_open" | "key_settled" | "key_tries" | "key_reused" as why:
            assert key
            return KeyTaken(why, verdict["source"], key)
        case "balance":
            return _unpaid(Balance(verdict["balance"], verdict["held"], verdict["limit"]), asked, card)
        case "ceiling":
            ceiling = Ceiling(verdict["period"], verdict["cents"], verdict["spent"])
            return ceiling.refusal(asked.amount, today=today)
        case "in_flight":
            return TooManyRequests(
                f"This organization may have {verdict['limit']:,} requests in flight at once, and has. "
                "Wait until one is answered, then send this again.",
                code="wait_capacity",
                retry_after=1,
            )
        case "model_busy":
            return TooManyRequests(
                f"The model '{asked.model}' answers {verdict['limit']:,} requests at once, and does. "
                "Try again in a second.",
                code="model_busy",
                retry_after=1,
            )
    try:
        caller.require_scope(asked.scope)
        caller.require_surface(asked.plan_surface)
        caller.require_model(asked.model)
    except AnexError as error:
        return error
    raise ValueError(f"{verdict} is no verdict")


def _unpaid(balance: Balance, asked: Asked, card: PriceCard) -> PaymentRequired:
    """The 402; of what has only input, with the tokens that the balance would cover (reference 004, embeddings)."""
    error = balance.shortfall(asked.amount)
    if asked.surface == "embeddings" and card.realtime and card.realtime.input:
        error.extra["affordable_tokens"] = affordable_tokens(card.realtime.input, balance.available_nano)
    return error


def bound(*, body_bytes: int, messages: int, output_cap: int, context_tokens: int, media: Usage = NOTHING) -> Usage:
    """The most a request can use, without reading it: no tokenizer makes more tokens of a text than it has bytes.

    `body_bytes` are those of the prompt in UTF-8 or more, e.g. of the JSON it came in without inline media; `media` are
    its items and the tokens they become. `context_tokens` is the most the model reads, for all inputs together.
    """
    text = body_bytes + _OVERHEAD_TOKENS + messages * _MESSAGE_TOKENS
    return replace(
        media,
        input_tokens=min(text + media.input_tokens, context_tokens),
        cached_tokens=0,
        output_tokens=min(output_cap, context_tokens),
    )


def hold_nano(card: PriceCard, most: Usage) -> int:
    """What is held for a request that can use `most`: at least a nano-dollar. NotServed (501) without a price."""
    try:
        return max(1, row_cost_nano(card, most, "realtime"))
    except NotSold as error:
        raise NotServed(f"model '{card.model}' is not served in realtime here; use the batch API") from error


def believed(reported: Usage, most: Usage) -> Usage:
    """What is billed of a server's report: tokens at most as many as possible, media as they were sent."""
    read = _within(reported.input_tokens, most.input_tokens)
    return replace(
        most,
        input_tokens=read,
        cached_tokens=_within(reported.cached_tokens, read),
        output_tokens=_within(reported.output_tokens, most.output_tokens),
    )


def own_count(most: Usage, *, pieces: int) -> Usage:
    """What is billed where a server reported nothing: a token per relayed piece, and the prompt by its length."""
    text = (most.input_tokens - _OVERHEAD_TOKENS) // _BYTES_PER_TOKEN
    return replace(most, input_tokens=max(1, text), output_tokens=_within(pieces, most.output_tokens))


def _within(count: int, most: int) -> int:
    return min(max(count, 0), most)
