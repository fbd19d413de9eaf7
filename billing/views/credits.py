"""The credits page: what there is, the ledger with its running balance, the ledger as CSV, monthly statements."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date
from decimal import Decimal
from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.access import Member, member_page
from accounts.permissions import Action
from accounts.selectors import plans
from anex.core import clock
from anex.core.errors import InvalidRequest
from billing import csv_export, gateways
from billing.forms import BalanceAlertForm, LedgerForm
from billing.ledger import Cursor, Entry, Filter, Totals, total
from billing.selectors import balance_alerts as alert_reads
from billing.selectors import balances, grants, ledger, statements, topups
from billing.services import balance_alerts

PAGE = 50
PAYMENTS = 5
_HEADER = ("time_utc", "kind", "description", "source", "amount_usd", "held_usd", "balance_usd")


@require_safe
@member_page(Action.VIEW)
def credits_page(request: HttpRequest, member: Member) -> HttpResponse:
    """Balance, held, available; one page of the ledger and what all its pages add up to."""
    threshold_cents = alert_reads.threshold_cents(member.organization.pk)
    filled = {} if threshold_cents is None else {"threshold": Decimal(threshold_cents) / 100}
    return _credits_page(request, member, BalanceAlertForm(initial=filled))


@require_POST
@member_page(Action.MANAGE_BILLING)
def balance_alert(request: HttpRequest, member: Member) -> HttpResponse:
    """Set below what to be told that the balance is low."""
    form = BalanceAlertForm(request.POST)
    if form.is_valid():
        cents = form.cleaned_data["threshold"]
        try:
            balance_alerts.configure(organization_id=member.organization.pk, threshold_cents=cents, actor=member.actor)
        except InvalidRequest as error:
            form.add_error(error.param, error.message)
        else:
            messages.success(request, "Saved." if cents else "No e-mail about a low balance any more.")
            return redirect("credits")
    return _credits_page(request, member, form, status=400)


def _credits_page(
    request: HttpRequest, member: Member, alert_form: BalanceAlertForm, status: int = 200
) -> HttpResponse:
    organization_id = member.organization.pk
    form = LedgerForm(request.GET)
    wanted = form.wanted()
    before = Cursor.parse(request.GET.get("before", ""))
    query = urlencode([(name, value) for name, value in request.GET.items() if value and name in form.fields])
    page = ledger.page(organization_id, wanted, size=PAGE, before=before)
    context: dict[str, Any] = {
        "balance": balances.get(organization_id),
        "form": form,
        "page": page,
        "totals": _totals(request, organization_id, wanted, page if before is None else None),
        "ending": grants.ending(organization_id),
        "plan": plans.of(organization_id),
        "months": statements.months(organization_id),
        "may_add": member.may(Action.MANAGE_BILLING) and gateways.configured() is not None,
        "alert_form": alert_form,
        "may_manage": member.may(Action.MANAGE_BILLING),
        "query": query,
        "is_first_page": before is None,
        "is_filtered": not wanted.is_everything,
        "payments": topups.recent(organization_id, PAYMENTS),
        "auto": topups.auto(organization_id),
    }
    return render(request, "billing/credits.html", context, status=status)


def _totals(request: HttpRequest, organization_id: UUID, wanted: Filter, first: ledger.Page | None) -> Totals | None:
    """Read from the page where it is the only one, else only when asked for: every line is added up."""
    if first and first.older is None:
        return total(first.entries)
    return ledger.totals(organization_id, wanted) if "sum" in request.GET else None


@require_safe
@member_page(Action.VIEW)
def ledger_csv(request: HttpRequest, member: Member) -> HttpResponse:
    """Every entry of the filter as a file, sent while it is read."""
    wanted = LedgerForm(request.GET).wanted()
    return stream_csv(_ledger_lines(member.organization.pk, wanted), f"anex-ledger-{clock.now():%Y-%m-%d}.csv")


@require_safe
@member_page(Action.VIEW)
def statement_page(request: HttpRequest, member: Member, year: int, month: int) -> HttpResponse:
    """A month on one printable page."""
    if not (1 <= month <= 12 and 1 <= year <= 9999):
        raise Http404
    found = statements.get(member.organization.pk, date(year, month, 1))
    context = {
        "statement": found,
        "limit_nano": balances.get(member.organization.pk).credit_limit_nano,
        "printed_at": clock.now(),
    }
    return render(request, "billing/statement.html", context)


def stream_csv(pieces: Iterator[str], filename: str) -> HttpResponse:
    """An answer that carries the pieces of a CSV file as they come."""
    answer = StreamingHttpResponse(
        _from_threads(pieces),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{filename}"'},
    )
    return cast(HttpResponse, answer)


async def _from_threads(pieces: Iterator[str]) -> AsyncIterator[str]:
    """Each piece is read in a thread: the database is not waited for in the event loop."""

    def step() -> str | None:
        return next(pieces, None)

    while (piece := await sync_to_async(step)()) is not None:
        yield piece


def _ledger_lines(organization_id: UUID, wanted: Filter) -> Iterator[str]:
    yield csv_export.lines([_HEADER])
    for entries in ledger.everything(organization_id, wanted):
        yield csv_export.lines(_cells(entry) for entry in entries)


def _cells(entry: Entry) -> tuple[str, ...]:
    return (
        entry.at.astimezone(UTC).isoformat(),
        entry.kind,
        csv_export.text(entry.reason),
        csv_export.text(entry.source),
        csv_export.dollars(entry.amount_nano),
        csv_export.dollars(entry.held_nano),
        "" if entry.balance_nano is None else csv_export.dollars(entry.balance_nano),
    )
