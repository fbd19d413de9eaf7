"""`GET /v1/usage`, `GET /v1/balance` and `GET /v1/plans`, readable with any key of the organization."""

from typing import Any, cast
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.callers import Caller
from accounts.selectors import plans
from anex.core import clock
from anex.core.money import credits
from billing import usage
from billing.api.openai import OpenAIView
from billing.selectors import balances
from billing.selectors import usage as reads
from billing.usage import Row


class UsageView(OpenAIView):
    """Usage by day (UTC), model, key and surface; its costs add up to the ledger's charges of the days."""

    def get(self, request: Request) -> Response:
        """`start_date`, `end_date` (both included), `group_by` a list of day, model, key, surface."""
        asked = request.query_params
        span = usage.span(asked.get("start_date"), asked.get("end_date"), today=clock.now().date())
        by = usage.dimensions(asked.get("group_by"))
        organization_id = _organization(request)
        return Response(
            {
                "object": "list",
                "start_date": span.first.isoformat(),
                "end_date": span.last.isoformat(),
                "group_by": list(by),
                "data": [_names(row, by) | _figures(row) for row in reads.rows(organization_id, span, by)],
                "total": _figures(reads.total(organization_id, span)),
            }
        )


class BalanceView(OpenAIView):
    """What the organization has and may spend, in credits (US cents)."""

    def get(self, request: Request) -> Response:
        """The balance at this moment."""
        balance = balances.get(_organization(request))
        return Response(
            {
                "object": "balance",
                "balance": credits(balance.balance_nano),
                "held": credits(balance.held_nano),
                "credit_limit": credits(balance.credit_limit_nano),
                "available": credits(balance.available_nano),
                "currency": "usd",
            }
        )


class PlansView(OpenAIView):
    """The plan that binds the key (reference 004): the one its organization is on; those of others are not told."""

    def get(self, request: Request) -> Response:
        """A list of one."""
        plan = plans.of(_organization(request))
        interactive = {"burst": plan.burst if plan.may_generate else 0}
        entry = {
            "id": plan.slug,
            "object": "plan",
            "name": plan.name,
            "surfaces": plan.sorted_surfaces,
            "limits": {
                "api": {"may_generate": plan.may_generate, "interactive": interactive},
                "max_output_tokens": plan.max_output_tokens,
                "history_budget_bytes": plan.history_budget_bytes,
            },
        }
        return Response({"object": "list", "data": [entry]})


def _organization(request: Request) -> UUID:
    caller = cast(Caller, request.auth)
    return caller.organization_id


def _names(row: Row, by: tuple[str, ...]) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for name in by:
        value = getattr(row, name)
        names[name] = value.isoformat() if name == "day" else value or None
    return names


def _figures(row: Row) -> dict[str, Any]:
    return {
        "requests": row.requests,
        "input_tokens": row.input_tokens,
        "cached_tokens": row.cached_tokens,
        "output_tokens": row.output_tokens,
        "cost": credits(row.amount_nano),
        "cost_nano_usd": row.amount_nano,
    }
