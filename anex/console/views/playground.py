"""The playground: a page asks the realtime API itself, with a key of its own (docs/decisions/playground.md)."""

from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from accounts.access import Member, member_page
from accounts.permissions import Action
from accounts.services import playground as keys
from anex.console import playground
from anex.core.errors import AnexError
from anex.core.money import format_dollars
from billing import gateways
from billing.selectors import balances, realtime
from inference.catalogue.schema import Model, Task

_PATHS: Final[dict[Task, str]] = {"chat": "/v1/chat/completions", "embed": "/v1/embeddings", "decide": "/v1/systemone"}
_SCRIPTS: Final[dict[Task, str]] = {"chat": "chat", "embed": "embeddings", "decide": "decisions"}


@require_safe
@member_page(Action.USE_PLAYGROUND)
def page(request: HttpRequest, member: Member, task: Task = "chat") -> HttpResponse:
    """One tab: the models of a task, and the parameters of the one that is chosen."""
    company = playground.company(task, organization_id=member.organization.pk, region=settings.ANEX_REGION)
    talkers = company.talkers
    asked = request.GET.get("model")
    chosen = next((each for each in talkers if each.model.id == asked), talkers[0] if talkers else None)
    context = {
        "task": task,
        "talkers": talkers,
        "off": company.off,
        "chosen": chosen,
        "balance": balances.get(member.organization.pk),
        "may_add_credits": member.may(Action.MANAGE_BILLING) and gateways.configured() is not None,
    }
    if chosen:
        context |= _chosen(task, chosen.model)
    return render(request, f"console/playground/{task}.html", context)


@require_POST
@member_page(Action.USE_PLAYGROUND)
def key(request: HttpRequest, member: Member) -> HttpResponse:
    """A secret for the page that asks, in this one answer. 409 where the page shows another organization than this
    browser acts for by now: its requests would be paid by the wrong one."""
    if request.POST.get("organization") != str(member.organization.pk):
        told = f"This browser acts for {member.organization.name} now. Reload the page to go on."
        return JsonResponse({"detail": told}, status=409)
    try:
        made = keys.open(organization_id=member.organization.pk, user_id=member.user.pk)
    except AnexError as error:
        return JsonResponse({"detail": error.message}, status=error.status)
    return JsonResponse({"key": made.secret}, status=201)


@require_safe
@member_page(Action.USE_PLAYGROUND)
def bill(request: HttpRequest, member: Member, request_id: str) -> HttpResponse:
    """What a request used and cost, once it is settled; `settled` is false before."""
    found = realtime.bill(member.organization.pk, request_id)
    if found is None:
        return JsonResponse({"settled": False})
    return JsonResponse(
        {
            "settled": True,
            "input_tokens": found.input_tokens,
            "cached_tokens": found.cached_tokens,
            "output_tokens": found.output_tokens,
            "cost": format_dollars(found.amount_nano),
            "status": found.status,
        }
    )


def _chosen(task: Task, model: Model) -> dict[str, Any]:
    first, origin = playground.example(task, model), settings.ANEX_PUBLIC_URL
    return {
        "path": _PATHS[task],
        "script": f"console/playground/{_SCRIPTS[task]}.js",
        "numbers": list(playground.number_fields(model)),
        "thinking": playground.thinking(model),
        "takes_json": playground.takes_json(model),
        "first": first,
        "questions": list(playground.questions(first)),
        "origin": origin,
        "curl": playground.curl(origin + _PATHS[task], first),
    }
