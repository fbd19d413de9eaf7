"""The job endpoints of the batch API (references 001 and 003). Each view parses, makes one call, renders."""

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.api import rendering, requests
from jobs.api.endpoint import JOB_ID, Endpoint, answers
from jobs.api.schemas import CreateJobRequestSerializer, JobResultSerializer, JobSerializer
from jobs.selectors import contents, jobs
from jobs.services import approvals, cancellations, results, submissions

EXAMPLE = OpenApiExample(
    "A job with a fixed cap",
    {"input_id": "0b9cf4c6-6a3d-4f0e-9a44-2f5f1f3f7f6e", "model": "qwen3.8-27b", "max_output_tokens": 512},
    request_only=True,
)


class JobsView(Endpoint):
    """`/jobs`."""

    @extend_schema(
        operation_id="createJob",
        tags=["jobs"],
        summary="Submit a job: an input plus a model",
        request=CreateJobRequestSerializer,
        examples=[EXAMPLE],
        responses=answers(201, JobSerializer, "The job was created.", 400, 402, 404, 409, 413, 415, 421),
    )
    def post(self, request: Request) -> Response:
        """Creates a job in `submitted`."""
        caller, asked = self.caller, requests.create_job(request)
        caller.require_model(asked["options"].model_id)
        job = submissions.submit(organization_id=caller.organization_id, actor=caller.actor, **asked)
        return Response(rendering.brief(job), status=201)


class JobView(Endpoint):
    """`/jobs/{id}`."""

    @extend_schema(
        operation_id="getJob",
        tags=["jobs"],
        summary="Poll a job for its status, estimate and row counts",
        parameters=[JOB_ID],
        responses=answers(200, JobSerializer, "The job as it is now.", 404),
    )
    def get(self, request: Request, id: str) -> Response:
        """Every field of the job."""
        job = jobs.get(self.caller.organization_id, requests.job_id(id))
        body = rendering.full(
            job,
            progress=jobs.progress(job),
            failure=contents.failure(job),
            response_format=contents.response_format(job),
        )
        return Response(body)


class ApproveView(Endpoint):
    """`/jobs/{id}/approve`."""

    @extend_schema(
        operation_id="approveJob",
        tags=["jobs"],
        summary="Approve a job's estimate: holds it and starts the rows",
        request=None,
        parameters=[JOB_ID],
        responses=answers(200, JobSerializer, "The estimate is held and the rows start.", 402, 404, 409),
    )
    def post(self, request: Request, id: str) -> Response:
        """Moves the job to `in_progress`."""
        caller, job_id = self.caller, requests.job_id(id)
        if caller.models is not None:
            caller.require_model(jobs.get(caller.organization_id, job_id).model_id)
        job = approvals.approve(organization_id=caller.organization_id, job_id=job_id, actor=caller.actor)
        return Response(rendering.brief(job))


class CancelView(Endpoint):
    """`/jobs/{id}/cancel`."""

    @extend_schema(
        operation_id="cancelJob",
        tags=["jobs"],
        summary="Cancel a job; what it finished is delivered and billed",
        request=None,
        parameters=[JOB_ID],
        responses=answers(200, JobSerializer, "The job is cancelled, or cancelling while rows run.", 404, 409),
    )
    def post(self, request: Request, id: str) -> Response:
        """Moves the job to `cancelled`, or to `cancelling` while rows of it run."""
        caller = self.caller
        job = cancellations.cancel(
            organization_id=caller.organization_id, job_id=requests.job_id(id), actor=caller.actor
        )
        return Response(rendering.brief(job))


class ResultView(Endpoint):
    """`/jobs/{id}/result`."""

    @extend_schema(
        operation_id="getJobResult",
        tags=["jobs"],
        summary="Get a link to a job's result file",
        parameters=[JOB_ID],
        responses=answers(200, JobResultSerializer, "A fresh link.", 404, 409, 410, 421),
    )
    def get(self, request: Request, id: str) -> Response:
        """A fresh presigned link."""
        link = results.link(organization_id=self.caller.organization_id, job_id=requests.job_id(id))
        return Response(rendering.result(link))
