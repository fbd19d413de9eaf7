"""The first page: what there is to spend, what waits for a decision, what runs, what is finished."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.access import Member, member_page
from accounts.permissions import Action
from accounts.selectors import keys
from billing import gateways
from billing.selectors import balances
from jobs.lifecycle import TERMINAL, Status
from jobs.selectors import jobs

_LOOKED_AT = 200
_SHOWN = 5


@never_cache
@require_safe
@member_page(Action.VIEW)
def dashboard(request: HttpRequest, member: Member) -> HttpResponse:
    """The whole page."""
    balance = balances.get(member.organization.pk)
    work = _work(member)
    done = {
        "credits": not balance.is_empty,
        "key": bool(keys.of(member.organization.pk)),
        "job": work["any_job"],
    }
    context = {
        "balance": balance,
        "checklist": None if all(done.values()) else done,
        "may_create_key": member.may(Action.CREATE_KEY),
        "may_add_credits": member.may(Action.MANAGE_BILLING) and gateways.configured() is not None,
    }
    return render(request, "console/dashboard.html", context | work)


@never_cache
@require_safe
@member_page(Action.VIEW)
def dashboard_live(request: HttpRequest, member: Member) -> HttpResponse:
    """The part of the page that moves."""
    return render(request, "console/dashboard_live.html", _work(member))


def _work(member: Member) -> dict[str, Any]:
    newest = jobs.recent(member.organization.pk, _LOOKED_AT)
    moving = [job for job in newest if job.status not in TERMINAL and job.status != Status.COST_READY]
    return {
        "any_job": bool(newest),
        "waiting": jobs.awaiting_approval(member.organization.pk),
        "running": [{"job": job, "progress": jobs.progress(job)} for job in moving[:_SHOWN]],
        "running_more": max(0, len(moving) - _SHOWN),
        "finished": [job for job in newest if job.status in TERMINAL][:_SHOWN],
        "may_approve": member.may(Action.APPROVE_JOB),
    }
