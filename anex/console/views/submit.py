"""The page of a new job: its file comes from the browser straight to the store, from a URL or from our samples."""

from typing import Final
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import Member, member_page
from accounts.permissions import Action
from accounts.selectors import freezes
from anex.console import offers
from anex.console.job_form import JobForm
from anex.console.offers import Offer
from anex.core.errors import AnexError, InvalidRequest, NotFound
from billing import gateways
from billing.selectors import balances
from jobs.services import ingests, inputs, submissions
from jobs.services.inputs import Standing
from jobs.services.submissions import SubmitOptions

# Of each kind the file, and the task and the input of a model that reads it.
_SAMPLES: Final = {
    "chat": ("sample.jsonl", "chat", "text"),
    "pictures": ("sample-pictures.jsonl", "chat", "image"),
    "embed": ("sample-embeddings.jsonl", "embed", "text"),
    "decide": ("sample-decisions.jsonl", "decide", "text"),
}


@require_http_methods(["GET", "POST"])
@member_page(Action.SUBMIT_JOB)
def new(request: HttpRequest, member: Member) -> HttpResponse:
    """The form; a refusal comes back in it with what was uploaded still named. So does a file that is being copied."""
    offered = offers.current(organization_id=member.organization.pk, region=settings.ANEX_REGION)
    given = request.GET if request.method == "GET" else request.POST
    first = {"input_id": given.get("input"), "model": given.get("model")}
    form = JobForm(
        request.POST or None, offers=offered, initial={name: value for name, value in first.items() if value}
    )
    source = None
    try:
        source = _source(member, given.get("input") or given.get("input_id"))
        if form.is_valid():
            freezes.require_open("batch")
            source = source or _copy(form, member)
            if not source.moves:
                return redirect("job", job_id=_submit(form, member, source.id))
    except NotFound:
        raise
    except AnexError as error:
        if not form.is_bound:
            return _refused(request, member, error)
        form.refuse(error.param, error.message)
    return _page(request, member, form, offered, source)


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
    return JsonResponse(
        {"input_id": str(created.pk), "url": _here(target.url), "fields": dict(target.fields)}, status=201
    )


@require_POST
@member_page(Action.SUBMIT_JOB)
def file_form(request: HttpRequest, member: Member) -> HttpResponse:
    """For browsers without scripts: a form that goes straight to the store, which leads back to the page of the job."""

    def return_to(input_id: UUID) -> str:
        return request.build_absolute_uri(f"{reverse('job_new')}?input={input_id}")

    try:
        freezes.require_open("batch")
        _, target = inputs.create_upload(
            organization_id=member.organization.pk,
            format=request.POST.get("format", inputs.JSONL),
            actor=member.actor,
            return_to=return_to,
        )
    except AnexError as error:
        return _refused(request, member, error)
    context = {"url": _here(target.url), "fields": target.fields, "format": request.POST.get("format", inputs.JSONL)}
    return render(request, "console/jobs/file_form.html", context, status=201)


@require_POST
@member_page(Action.SUBMIT_JOB)
def sample(request: HttpRequest, member: Member) -> HttpResponse:
    """Take one of our files in the place of an upload, and the first model that reads it."""
    kind = request.POST.get("sample", "")
    offered = offers.current(organization_id=member.organization.pk, region=settings.ANEX_REGION)
    model = _reader(kind, offered)
    try:
        freezes.require_open("batch")
        if model is None:
            raise InvalidRequest("No model that reads this sample is offered at the moment.")
        data = (settings.BASE_DIR / "static" / "console" / _SAMPLES[kind][0]).read_bytes()
        source = inputs.create_whole(
            organization_id=member.organization.pk, format=inputs.JSONL, data=data, actor=member.actor
        )
    except AnexError as error:
        return _refused(request, member, error)
    return redirect(f"{reverse('job_new')}?input={source.pk}&model={model}")


@require_safe
@member_page(Action.SUBMIT_JOB)
def input_state(request: HttpRequest, member: Member, input_id: UUID) -> HttpResponse:
    """How a file stands; what moves asks again."""
    return render(
        request,
        "console/jobs/input.html",
        {"source": _source(member, str(input_id)), "awaited": "awaited" in request.GET},
    )


def _reader(kind: str, offered: list[Offer]) -> str | None:
    """The first model that reads a kind of sample."""
    _, task, needed = _SAMPLES.get(kind, ("", "", ""))
    models = (offer.model for offer in offered)
    return next((model.id for model in models if model.task == task and needed in model.inputs), None)


def _copy(form: JobForm, member: Member) -> Standing:
    """The input that the URL of a valid form is copied to."""
    source, _ = ingests.create(
        organization_id=member.organization.pk, source_url=form.cleaned_data["source_url"], actor=member.actor
    )
    return inputs.standing(organization_id=member.organization.pk, input_id=source.pk)


def _submit(form: JobForm, member: Member, input_id: UUID) -> UUID:
    job = submissions.submit(
        organization_id=member.organization.pk,
        options=SubmitOptions(form.cleaned_data["model"], form.row_options(), urgency=form.urgency()),
        actor=member.actor,
        input_id=input_id,
    )
    return job.pk


def _page(
    request: HttpRequest, member: Member, form: JobForm, offered: list[Offer], source: Standing | None
) -> HttpResponse:
    chosen = form["model"].value()
    context = {
        "form": form,
        "offers": offered,
        "off": offers.switched_off(organization_id=member.organization.pk, region=settings.ANEX_REGION),
        "samples": [kind for kind in _SAMPLES if _reader(kind, offered)],
        "sells_hour": any(offer.hour for offer in offered),
        "chosen": chosen if any(offer.model.id == chosen for offer in offered) else form.fields["model"].initial,
        "balance": balances.get(member.organization.pk),
        "may_add_credits": member.may(Action.MANAGE_BILLING) and gateways.configured() is not None,
        "source": source,
    }
    return render(request, "console/jobs/new.html", context, status=400 if form.errors else 200)


def _refused(request: HttpRequest, member: Member, error: AnexError) -> HttpResponse:
    """The page again, with what a service refused above it."""
    offered = offers.current(organization_id=member.organization.pk, region=settings.ANEX_REGION)
    form = JobForm({}, offers=offered)
    form.errors.clear()
    form.refuse(None, error.message)
    return _page(request, member, form, offered, None)


def _source(member: Member, input_id: str | None) -> Standing | None:
    """The input that a page names, as it is now; NotFound for one that is nobody's or another organization's."""
    if not input_id:
        return None
    try:
        named = UUID(input_id)
    except ValueError:
        raise NotFound("No such input in this organization.") from None
    return inputs.standing(organization_id=member.organization.pk, input_id=named)


def _here(url: str) -> str:
    """Our own store is reached under the name the browser already uses, whatever this installation calls itself."""
    return url.removeprefix(settings.ANEX_PUBLIC_URL)
