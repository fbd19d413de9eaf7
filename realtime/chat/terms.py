"""What a plan makes of a chat that was admitted: how much of its history is sent on, and how long its answer may be."""

from typing import NamedTuple

import msgspec

from accounts.plans import PlanTerms
from inference.requests import chat_request
from inference.requests.chat_request import ChatRequest
from inference.requests.history import trim
from inference.requests.profiles import Profile


class Bound(NamedTuple):
    """The chat as it is sent on, and how many messages were left out."""

    chat: ChatRequest
    dropped: int


def bind(chat: ChatRequest, plan: PlanTerms, profile: Profile) -> Bound:
    """The chat within the terms. A plan can only shorten: what was held for the whole is more than enough."""
    dropped = 0
    if plan.history_budget_bytes is not None and profile.obeys_plans:
        kept = trim(chat.messages, chat.media, plan.history_budget_bytes)
        if dropped := kept.dropped:
            chat = msgspec.structs.replace(chat, messages=kept.messages, media=kept.media)
    if plan.max_output_tokens is not None:
        chat = chat_request.within(chat, plan.max_output_tokens)
    return Bound(chat, dropped)
