"""From a request to what the services take; whatever does not fit the endpoint's shape is 422."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request

from accounts.callers import Caller
from accounts.services import idempotency
from inference.requests.options import RowOptions
from jobs.api.endpoint import id_in_path, validated
from jobs.api.schemas import CreateJobRequestSerializer
from jobs.selectors.jobs import refuse_unknown
from jobs.services.submissions import SubmitOptions
from jobs.urgency import USUAL_PRIORITY, USUAL_WINDOW, Urgency


def job_id(text: str) -> UUID:
    """The id in a path; text that is no id names no job, so it is NotFound."""
    return id_in_path(text, refuse_unknown)


def create_job(request: Request) -> dict[str, Any]:
    """The keyword arguments of `submissions.submit` that the body gives."""
    fields = validated(CreateJobRequestSerializer, request)
    row = RowOptions(
        max_output_tokens=fields.get("max_output_tokens"),
        temperature=fields.get("temperature"),
        reasoning=fields.get("reasoning"),
        reasoning_budget=fields.get("reasoning_budget"),
        reasoning_effort=fields.get("reasoning_effort"),
        response_format=fields.get("response_format"),
        dimensions=fields.get("dimensions"),
        video_fps=fields.get("video_fps"),
    )
    options = SubmitOptions(
        model_id=fields["model"],
        row=row,
        data_residency=fields.get("data_residency"),
        urgency=Urgency(
            window=fields.get("completion_window", USUAL_WINDOW), priority=fields.get("priority", USUAL_PRIORITY)
        ),
    )
    return {"input_id": fields.get("input_id"), "input_s3_uri": fields.get("input_s3_uri"), "options": options}


def attempt(request: Request, caller: Caller, operation: str) -> idempotency.Attempt | None:
    """What makes the request repeatable, where it carries a key; InvalidRequest for a malformed key.

    Call it before the body is parsed: the digest is of the bytes that were sent.
    """
    key = request.headers.get(idempotency.HEADER)
    if key is None:
        return None
    body = request.path.encode() + b"\n" + request.body
    return idempotency.attempt(organization_id=caller.organization_id, operation=operation, key=key, body=body)
