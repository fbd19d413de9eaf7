"""The job endpoints of the batch API (references 001 and 003). Each view parses, makes one call, renders."""

from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.api import listing, rendering, requests
from jobs.api.endpoint import JOB_ID, Endpoint, answers, validated
from jobs.api.listing import JobListSerializer, ListJobsSerializer
from jobs.api.schemas import (
    IDEMPOTENCY_KEY,
    CreateJobRequestSerializer,
    JobDataDeletionSerializer,
    JobResultSerializer,
    JobSerializer,
    RetryJobRequestSerializer,
)
from jobs.selectors import contents, jobs, pages
from jobs.services import approvals, cancellations, deletions, pauses, results, retries, submissions

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
        parameters=[IDEMPOTENCY_KEY],
        request=CreateJobRequestSerializer,
        examples=[EXAMPLE],
        responses=answers(201, JobSerializer, "The job was created.", 400, 402, 404, 409, 413, 415, 421),
    )
    def post(self, request: Request) -> Response:
        """Creates a job in `submitted`; the same request under the same key creates no second one."""
        caller = self.caller
        attempt = requests.attempt(request, caller, "createJob")
        asked = requests.create_job(request)
        caller.require_model(asked["options"].model_id)
        job = submissions.submit(organization_id=caller.organization_id, actor=caller.actor, attempt=attempt, **asked)
        return Response(rendering.created(job), status=201)

    @extend_schema(
        operation_id="listJobs",
        tags=["jobs"],
        summary="List the organization's jobs, newest first",
        parameters=[ListJobsSerializer],
        responses=answers(200, JobListSerializer, "A page of jobs."),
    )
    def get(self, request: Request) -> Response:
        """A page of jobs."""
        found = pages.page(self.caller.organization_id, **listing.query(request))
        return Response(rendering.page(found, jobs.progress_of(found.jobs)))


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


class PauseView(Endpoint):
    """`/jobs/{id}/pause`."""

    @extend_schema(
        operation_id="pauseJob",
        tags=["jobs"],
        summary="Pause a job: no further row is sent until it is resumed",
        request=None,
        parameters=[JOB_ID],
        responses=answers(200, JobSerializer, "The job is paused.", 404, 409),
    )
    def post(self, request: Request, id: str) -> Response:
        """The job stays `in_progress` with `paused` set; rows in flight finish. Safe to repeat."""
        caller, job_id = self.caller, requests.job_id(id)
        job = pauses.pause(organization_id=caller.organization_id, job_id=job_id, actor=caller.actor)
        return Response(rendering.brief(job) | {"paused": job.paused})


class ResumeView(Endpoint):
    """`/jobs/{id}/resume`."""

    @extend_schema(
        operation_id="resumeJob",
        tags=["jobs"],
        summary="Resume a paused job",
        request=None,
        parameters=[JOB_ID],
        responses=answers(200, JobSerializer, "The job runs again.", 404, 409),
    )
    def post(self, request: Request, id: str) -> Response:
        """The job's rows are sent again. Safe to repeat."""
        caller, job_id = self.caller, requests.job_id(id)
        job = pauses.resume(organization_id=caller.organization_id, job_id=job_id, actor=caller.actor)
        return Response(rendering.brief(job) | {"paused": job.paused})


class RetryView(Endpoint):
    """`/jobs/{id}/retry`."""

    @extend_schema(
        operation_id="retryJob",
        tags=["jobs"],
        summary="Retry the failed rows of a job that is over, as a new job",
        parameters=[JOB_ID, IDEMPOTENCY_KEY],
        request=RetryJobRequestSerializer,
        responses=answers(201, JobSerializer, "The new job was created.", 400, 402, 404, 409, 410, 413, 415, 421),
    )
    def post(self, request: Request, id: str) -> Response:
        """Creates a job of the rows that were never answered, ended in an error or broke their format.

        It has the model and options of the old one, its own quote and approval, and `retry_of`.
        """
        caller, job_id = self.caller, requests.job_id(id)
        attempt = requests.attempt(request, caller, "retryJob")
        wished = validated(RetryJobRequestSerializer, request)
        if caller.models is not None:
            caller.require_model(jobs.get(caller.organization_id, job_id).model_id)
        job = retries.retry(
            organization_id=caller.organization_id,
            job_id=job_id,
            actor=caller.actor,
            attempt=attempt,
            window=wished.get("completion_window"),
            priority=wished.get("priority"),
        )
        return Response(rendering.created(job), status=201)


class ResultView(Endpoint):
    """`/jobs/{id}/result`."""

    answers_frozen = True

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


class DataView(Endpoint):
    """`/jobs/{id}/data`."""

    @extend_schema(
        operation_id="deleteJobData",
        tags=["jobs"],
        summary="Delete a job's input and result data now",
        description="A finished job's data is gone when this answers 200. A job in flight is cancelled first, what it "
        "finished is billed, and its data is deleted once it has stopped: 202. The record of the job stays. Repeating "
        "the call changes nothing.",
        request=None,
        parameters=[JOB_ID],
        responses=answers(200, JobDataDeletionSerializer, "The data is gone.", 404)
        | {202: OpenApiResponse(JobDataDeletionSerializer, description="It goes once the job has stopped.")},
    )
    def delete(self, request: Request, id: str) -> Response:
        """Deletes the data of a finished job, or stops the job first."""
        caller = self.caller
        job = deletions.delete_data(
            organization_id=caller.organization_id, job_id=requests.job_id(id), actor=caller.actor
        )
        return Response(rendering.deletion(job), status=202 if job.data_deleted_at is None else 200)
