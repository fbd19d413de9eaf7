"""The list of jobs: narrowed down, page by page, and its rows move."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access import Member, member_page
from accounts.permissions import Action
from accounts.selectors import actors
from anex.console.job_filters import JobFilterForm
from jobs.lifecycle import TERMINAL
from jobs.selectors import jobs, pages
from jobs.selectors.pages import Place
from jobs.services.submissions import MAX_WAITING

SHOWN = 50


@require_safe
@member_page(Action.VIEW)
def job_list(request: HttpRequest, member: Member) -> HttpResponse:
    """A page of jobs, newest first; the rows alone for the page that shows them already."""
    form = JobFilterForm(request.GET, organization_id=member.organization.pk)
    filters, after = form.filters(), _after(request)
    page = pages.page(member.organization.pk, filters=filters, after=after, limit=SHOWN)
    asked = {name: value for name, value in request.GET.items() if value and name in form.fields}
    context = _rows(member, page) | {"here": urlencode(asked | ({"after": request.GET["after"]} if after else {}))}
    if request.headers.get("HX-Request"):
        return render(request, "console/jobs/rows.html", context)
    context |= {
        "form": form,
        "query": urlencode(asked),
        "more_filters": bool(asked.keys() - {"id", "status"}),
        "older": urlencode(asked | {"after": pages.encode(page.end)}) if page.end else "",
        "paged": after is not None,
        "waiting": jobs.waiting_count(member.organization.pk, batches=False),
        "most_waiting": MAX_WAITING,
    }
    return render(request, "console/jobs/list.html", context, status=200 if form.is_valid() else 400)


def _rows(member: Member, page: pages.Page) -> dict[str, Any]:
    progress = jobs.progress_of([job for job in page.jobs if job.status not in TERMINAL])
    names = actors.names(member.organization.pk, {job.created_by for job in page.jobs})
    return {
        "lines": [(job, progress.get(job.pk), names[job.created_by]) for job in page.jobs],
        "moving": " ".join(str(job.pk) for job in page.jobs if job.status not in TERMINAL),
    }


def _after(request: HttpRequest) -> Place | None:
    """Where the page begins; a cursor that is none begins at the newest job."""
    try:
        return pages.decode(request.GET["after"])
    except (KeyError, ValueError):
        return None
