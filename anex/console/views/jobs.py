"""The page of a job: its steps, quote, progress, result, who did what, and the buttons that move it."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import Member, member_page
from accounts.permissions import Action
from accounts.selectors import actors, audit, freezes
from anex.console import history, snippets, stepper
from anex.core.errors import AnexError, NotFound
from inference.backends import registry
from jobs.lifecycle import TERMINAL, Status
from jobs.selectors import batches, contents
from jobs.selectors import jobs as reads
from jobs.services import approvals, cancellations, deletions, pauses, results, retries
from jobs.storage.interface import StoreUnavailable

_STOPPABLE = (Status.SUBMITTED, Status.COST_READY, Status.IN_PROGRESS)
_NOT_STARTED = (Status.SUBMITTED, Status.ESTIMATING, Status.COST_READY)
# Of what people, keys and we did to a job, the last ones are shown.
DEEDS = 30


@require_safe
@member_page(Action.VIEW)
def job_page(request: HttpRequest, member: Member, job_id: UUID) -> HttpResponse:
    """Everything about one job."""
    context = _live(member, job_id)
    return render(request, "console/jobs/job.html", context | {"snippets": snippets.of(context["batch_id"] or job_id)})


@require_safe
@member_page(Action.VIEW)
def job_live(request: HttpRequest, member: Member, job_id: UUID) -> HttpResponse:
    """The parts of the page that move; they stop asking for themselves once the job is over."""
    return render(request, "console/jobs/moved.html", _live(member, job_id))


@require_POST
@member_page(Action.APPROVE_JOB)
def job_approve(request: HttpRequest, member: Member, job_id: UUID) -> HttpResponse:
    """Hold the quote and start the job."""
    return _move(request, member, job_id, approvals.approve, "Approved. The quote is held; you never pay more.")


@require_http_methods(["GET", "POST"])
@member_page(Action.CANCEL_JOB)
def job_cancel(request: HttpRequest, member: Member, job_id: UUID) -> HttpResponse:
    """Ask, naming what is not done then; then stop the job. Rows that are finished are kept."""
    if request.method == "GET":
        job = reads.get(member.organization.pk, job_id)
        return render(request, "console/jobs/cancel.html", {"job": job, "progress": reads.progress(job)})
    return _move(request, member, job_id, cancellations.cancel, "Cancelled. Rows already answered stay yours.")


@require_POST
@member_page(Action.CANCEL_JOB)
def job_pause(request: HttpRequest, member: Member, job_id: UUID) -> HttpResponse:
    """Send no further row until it is resumed."""
    return _move(request, member, job_id, pauses.pause, "Paused. Rows that were on their way still finish.")


@require_POST
@member_page(Action.APPROVE_JOB)
def job_resume(request: HttpRequest, member: Member, job_id: UUID) -> HttpResponse:
    """Go on with a paused job."""
    return _move(request, member, job_id, pauses.resume, "Resumed.")


@require_POST
@member_page(Action.SUBMIT_JOB)
def job_retry(request: HttpRequest, member: Member, job_id: UUID) -> HttpResponse:
    """A new job of the rows that failed, and off to its page."""
    done = "A new job of the failed rows is being priced. Nothing runs before it is approved."
    return _move(request, member, job_id, retries.retry, done)


@require_http_methods(["GET", "POST"])
@member_page(Action.DELETE_DATA)
def job_delete(request: HttpRequest, member: Member, job_id: UUID) -> HttpResponse:
    """Ask, naming what is lost, then delete the job's data."""
    job = reads.get(member.organization.pk, job_id)
    if request.method == "GET":
        context = {"job": job, "is_over": job.status in TERMINAL, "others": reads.others_running(job)}
        return render(request, "console/jobs/delete.html", context)
    done = "The data is deleted." if job.status in TERMINAL else "The job is stopped, and its data goes with it."
    return _move(request, member, job_id, deletions.delete_data, done)


@require_safe
@member_page(Action.DOWNLOAD_RESULT)
def job_result(request: HttpRequest, member: Member, job_id: UUID) -> HttpResponse:
    """Off to a fresh link of the result file."""
    return _download(request, member, job_id, errors=False)


@require_safe
@member_page(Action.DOWNLOAD_RESULT)
def job_errors(request: HttpRequest, member: Member, job_id: UUID) -> HttpResponse:
    """Off to a fresh link of a batch's error file."""
    return _download(request, member, job_id, errors=True)


def _download(request: HttpRequest, member: Member, job_id: UUID, *, errors: bool) -> HttpResponse:
    try:
        return redirect(results.link(organization_id=member.organization.pk, job_id=job_id, errors=errors).url)
    except NotFound:
        raise
    except AnexError as error:
        messages.error(request, error.message)
        return redirect("job", job_id=job_id)


def _move(request: HttpRequest, member: Member, job_id: UUID, verb: Callable[..., Any], done: str) -> HttpResponse:
    try:
        freezes.require_open("batch")
        job_id = verb(organization_id=member.organization.pk, job_id=job_id, actor=member.actor).pk
    except NotFound:
        raise
    except AnexError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, done)
    return redirect("job", job_id=job_id)


def _live(member: Member, job_id: UUID) -> dict[str, Any]:
    job = reads.get(member.organization.pk, job_id)
    status, is_kept = Status(job.status), job.deletion_asked_at is None and job.data_deleted_at is None
    try:
        failure = contents.failure(job)
    except StoreUnavailable:
        failure = contents.Failure(reason="The reason cannot be read just now. Reload the page in a moment.")
    return {
        "job": job,
        "submitted_by": actors.describe(member.organization.pk, job.created_by),
        "steps": stepper.steps(
            status, [(event.type, event.at) for event in reads.events(job)], stop_reason=job.stop_reason
        ),
        "batch_id": batches.wire_id(job) if hasattr(job, "batch") else None,
        "error_file": batches.error_file(job),
        "progress": reads.progress(job),
        "off_reason": registry.off_reason(job.model_id, job.region) if status in _NOT_STARTED else "",
        "price_percent": reads.price_percent(job),
        "failure": failure,
        "is_over": status in TERMINAL,
        "deeds": history.deeds(audit.about(member.organization.pk, str(job.pk), limit=DEEDS)),
        "retried_as": reads.retries(job),
        "may_approve": status == Status.COST_READY and member.may(Action.APPROVE_JOB),
        "may_cancel": member.may(Action.CANCEL_JOB)
        and (status in _STOPPABLE or (status == Status.ESTIMATING and cancellations.stops_estimates(job))),
        "may_pause": status == Status.IN_PROGRESS and not job.paused and member.may(Action.CANCEL_JOB),
        "may_resume": job.paused and member.may(Action.APPROVE_JOB),
        "retryable_rows": reads.retryable_rows(job) if reads.is_readable(job) and member.may(Action.SUBMIT_JOB) else 0,
        "may_read": is_kept and member.may(Action.DOWNLOAD_RESULT),
        "may_delete": is_kept and member.may(Action.DELETE_DATA),
    }
