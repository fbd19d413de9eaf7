"""The first page: what there is to spend, what waits for a decision, what runs, what is finished."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access import Member, member_page
from accounts.permissions import Action
from accounts.selectors import keys
from anex.core.money import cents_to_nano
from billing import gateways
from billing.balance import Balance
from billing.selectors import balance_alerts, balances
from jobs.selectors.overview import overview


@require_safe
@member_page(Action.VIEW)
def dashboard(request: HttpRequest, member: Member) -> HttpResponse:
    """The whole page."""
    work = _work(member)
    balance, any_job = work["balance"], work["work"].any_job
    done = {"credits": not balance.is_empty, "key": keys.has_any(member.organization.pk), "job": any_job}
    # Credits that were spent are no first step that is still to be done.
    done["credits"] |= any_job
    context = {
        "checklist": None if all(done.values()) else done,
        "is_new": not any_job,
        "low_below_nano": _low_below(member, balance) if any_job else None,
        "may_create_key": member.may(Action.CREATE_KEY),
        "may_add_credits": member.may(Action.MANAGE_BILLING) and gateways.configured() is not None,
    }
    return render(request, "console/dashboard.html", context | work)


@require_safe
@member_page(Action.VIEW)
def dashboard_live(request: HttpRequest, member: Member) -> HttpResponse:
    """The part of the page that moves."""
    return render(request, "console/dashboard_live.html", _work(member))


def _work(member: Member) -> dict[str, Any]:
    balance = balances.get(member.organization.pk)
    found = overview(member.organization.pk)
    waiting = []
    for job in found.waiting:
        missing = cents_to_nano(job.quote_cents or 0) - balance.available_nano
        waiting.append({"job": job, "missing_nano": max(0, missing)})
    return {
        "balance": balance,
        "work": found,
        "waiting": waiting,
        "may_approve": member.may(Action.APPROVE_JOB),
    }


def _low_below(member: Member, balance: Balance) -> int | None:
    """The amount that less than is available, where that is worth a word: the owner's threshold, else nothing left."""
    told = balance_alerts.threshold_cents(member.organization.pk)
    below = cents_to_nano(told) if told else 1
    return below if balance.available_nano < below else None
