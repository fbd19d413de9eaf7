"""`GET /v1/jobs/{id}` and `/v1/jobs/chat_<key>`, the same on `/openai/v1`: a realtime request after the fact (004)."""

from typing import Any, Final, cast

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.callers import Caller
from anex.core.errors import NotFound
from anex.core.money import credits
from billing.api.openai import OpenAIView
from billing.selectors import turns
from billing.selectors.turns import Turn

_BY_KEY: Final = "chat_"


class TurnView(OpenAIView):
    """How a request ended, what it used and what was charged; readable with any key of the organization."""

    def get(self, request: Request, turn_id: str) -> Response:
        """The id is `X-Anex-Job-Id` or `X-Request-Id`, or `chat_` and the idempotency key of a chat request."""
        organization_id = cast(Caller, request.auth).organization_id
        if turn_id.startswith(_BY_KEY):
            turn = turns.find_by_key(organization_id, turn_id.removeprefix(_BY_KEY))
        else:
            turn = turns.find(organization_id, turn_id)
        if turn is None:
            raise NotFound("There is no such request.")
        return Response(_told(turn))


def _told(turn: Turn) -> dict[str, Any]:
    is_over = turn.ended_at is not None
    usage = {
        "input_tokens": turn.input_tokens,
        "cached_tokens": turn.cached_tokens,
        "output_tokens": turn.output_tokens,
    }
    return {
        "id": turn.id,
        "object": "job",
        "status": turn.status or "running",
        "surface": turn.surface,
        "model": turn.model,
        "created_at": int(turn.began_at.timestamp()),
        "completed_at": int(turn.ended_at.timestamp()) if turn.ended_at else None,
        "duration_ms": turn.duration_ms,
        "usage": usage if is_over else None,
        "credits_charged": credits(turn.charged_nano) if is_over else None,
    }
