"""The audit record for owners: read page by page, filtered, or taken along as CSV."""

import json
from collections.abc import AsyncIterator, Sequence
from urllib.parse import urlencode
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access import Member, member_page
from accounts.forms import AuditForm
from accounts.permissions import Action
from accounts.selectors import audit
from accounts.selectors.audit import Entry, Filter
from anex.core import clock, csv_export

SHOWN = 50
BATCH = 1_000
COLUMNS = ("time", "actor", "actor_id", "action", "target", "reason", "details")


@require_safe
@member_page(Action.READ_AUDIT)
def audit_list(request: HttpRequest, member: Member) -> HttpResponse:
    """The newest events that match, and a link to the ones before them."""
    form, wanted = _asked(request, member)
    entries = audit.entries(member.organization.pk, wanted, before=_before(request), limit=SHOWN + 1)
    query = {name: value for name, value in request.GET.items() if value and name in form.fields}
    older = urlencode(query | {"before": entries[SHOWN - 1].id}) if len(entries) > SHOWN else ""
    context = {
        "form": form,
        "entries": [(entry, audit.details_text(entry.details)) for entry in entries[:SHOWN]],
        "older": older,
        "query": urlencode(query),
        "paged": "before" in request.GET,
    }
    return render(request, "members/audit.html", context, status=200 if form.is_valid() else 400)


@require_safe
@member_page(Action.READ_AUDIT)
def audit_export(request: HttpRequest, member: Member) -> StreamingHttpResponse:
    """Every event that matches, as CSV, newest first."""
    _, wanted = _asked(request, member)
    name = f"audit-{clock.now():%Y-%m-%d}.csv"
    return csv_export.response(name, COLUMNS, _batches(member.organization.pk, wanted))


async def _batches(organization_id: UUID, wanted: Filter) -> AsyncIterator[list[Sequence[object]]]:
    """Each batch starts below the last one's id, so no cursor stays open while a slow client reads."""
    read = sync_to_async(audit.entries)
    before: int | None = None
    while batch := await read(organization_id, wanted, before=before, limit=BATCH):
        yield [_row(entry) for entry in batch]
        before = batch[-1].id


def _row(entry: Entry) -> Sequence[object]:
    details = json.dumps(entry.details, ensure_ascii=False) if entry.details else ""
    return (entry.at.isoformat(), entry.actor, entry.actor_id, entry.action, entry.target, entry.reason, details)


def _asked(request: HttpRequest, member: Member) -> tuple[AuditForm, Filter]:
    """The filter the address asks for; one that makes no sense matches everything and says so in the form."""
    form = AuditForm(request.GET, choices=audit.choices(member.organization.pk))
    given = form.cleaned_data if form.is_valid() else {}
    return form, Filter(**given)


def _before(request: HttpRequest) -> int | None:
    text = request.GET.get("before", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None
