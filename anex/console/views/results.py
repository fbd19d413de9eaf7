"""The rows of a job's result: page by page, found by custom_id, those that failed alone, and one as a whole."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.access import Member, member_page
from accounts.permissions import Action
from anex.core.errors import AnexError, Gone, NotFound
from jobs.lifecycle import TERMINAL
from jobs.run import browsing
from jobs.run.browsing import Wanted
from jobs.selectors import batches
from jobs.selectors import jobs as reads

Reading = Callable[Concatenate[HttpRequest, Any, ...], HttpResponse]


def _of_rows(view: Reading) -> Callable[..., HttpResponseBase]:
    """A page on what a job answered: 410 once that was deleted, 421 where it is kept elsewhere, in words."""

    @never_cache
    @require_safe
    @member_page(Action.DOWNLOAD_RESULT)
    @wraps(view)
    def page(request: HttpRequest, member: Member, job_id: UUID, **captured: Any) -> HttpResponse:
        try:
            return view(request, browsing.open_job(member.organization.pk, job_id), **captured)
        except NotFound:
            raise
        except AnexError as error:
            context = {"job": reads.get(member.organization.pk, job_id), "error": error}
            context["is_gone"] = isinstance(error, Gone)
            return render(request, "console/jobs/unreadable.html", context, status=error.status)

    return page


@_of_rows
def results(request: HttpRequest, job: Any) -> HttpResponse:
    """The next rows that are wanted; the rows alone for the page that goes on looking."""
    wanted = Wanted(
        after=_number(request.GET.get("after", "")),
        failed=bool(request.GET.get("failed")),
        custom_id=request.GET.get("id", "")[:512],
    )
    page = browsing.page(job, wanted)
    query = {name: value for name, value in (("id", wanted.custom_id), ("failed", wanted.failed and "1")) if value}
    context = {
        "job": job,
        "page": page,
        "wanted": wanted,
        "query": urlencode(query),
        "next": urlencode(query | {"after": page.end}) if page.end is not None else "",
        # Whoever looks for one row wants it found, not to press a button every ten thousand rows.
        "goes_on": page.end is not None and not page.rows and bool(query),
        "is_over": job.status in TERMINAL,
    }
    if not request.headers.get("HX-Request"):
        context |= {"never_run": reads.never_run(job), "error_file": batches.error_file(job)}
        return render(request, "console/jobs/results.html", context)
    return render(request, "console/jobs/result_rows.html", context)


@_of_rows
def result_row(request: HttpRequest, job: Any, number: int) -> HttpResponse:
    """One row: what it asked and all that came back."""
    whole = browsing.row(job, min(number, browsing.MOST_ROWS))
    context = {"job": job, "whole": whole, "is_over": job.status in TERMINAL}
    return render(request, "console/jobs/result_row.html", context)


def _number(text: str) -> int:
    return min(int(text), browsing.MOST_ROWS) if text.isascii() and text.isdecimal() and len(text) < 19 else 0
