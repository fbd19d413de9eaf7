"""The page of a new job: the file goes from the browser straight to the store, then the form names it."""

from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import Member, member_page
from accounts.permissions import Action
from accounts.selectors import freezes
from anex.console import offers
from anex.console.forms import JobForm
from anex.console.offers import Offer
from anex.core.errors import AnexError, NotFound
from billing import gateways
from billing.selectors import balances
from inference.requests.rows import RowOptions
from jobs.services import inputs, submissions
from jobs.services.submissions import SubmitOptions


@require_http_methods(["GET", "POST"])
@member_page(Action.SUBMIT_JOB)
def new(request: HttpRequest, member: Member) -> HttpResponse:
    """The form; a refusal comes back in it with what was uploaded still named."""
    offered = offers.current(organization_id=member.organization.pk, region=settings.ANEX_REGION)
    form = JobForm(request.POST or None, offers=offered)
    if form.is_valid():
        try:
            freezes.require_open("batch")
            job = _submit(form, member, offered)
        except NotFound:
            raise
        except AnexError as error:
            form.add_error(error.param if error.param in form.fields else None, error.message)
        else:
            return redirect("job", job_id=job)
    context = {
        "form": form,
        "offers": offered,
        "sells_hour": any(offer.hour_percent for offer in offered),
        "chosen": form["model"].value(),
        "balance": balances.get(member.organization.pk),
        "may_add_credits": member.may(Action.MANAGE_BILLING) and gateways.configured() is not None,
    }
    return render(request, "console/jobs/new.html", context, status=400 if form.errors else 200)


@require_POST
@member_page(Action.SUBMIT_JOB)
def upload(request: HttpRequest, member: Member) -> HttpResponse:
    """A target for one file of a `format` (jsonl unless named): `input_id`, and `url` and `fields` of its form."""
    try:
        freezes.require_open("batch")
        created, target = inputs.create_upload(
            organization_id=member.organization.pk, format=request.POST.get("format", inputs.JSONL), actor=member.actor
        )
    except AnexError as error:
        return JsonResponse({"detail": error.message}, status=error.status)
    # Our own store is reached under the name the browser already uses, whatever this installation calls itself.
    url = target.url.removeprefix(settings.ANEX_PUBLIC_URL)
    return JsonResponse({"input_id": str(created.pk), "url": url, "fields": dict(target.fields)}, status=201)


def _submit(form: JobForm, member: Member, offered: list[Offer]) -> UUID:
    chosen = form.cleaned_data
    row = RowOptions()
    # The options are hidden beside a model that writes nothing; what was typed before it was picked does not count.
    if any(offer.model_id == chosen["model"] and offer.task == "chat" for offer in offered):
        row = RowOptions(max_output_tokens=chosen["max_output_tokens"], temperature=chosen["temperature"])
    job = submissions.submit(
        organization_id=member.organization.pk,
        options=SubmitOptions(model_id=chosen["model"], row=row, urgency=form.urgency()),
        actor=member.actor,
        input_id=chosen["input_id"],
    )
    return job.pk
