"""The job endpoints of the batch API (references 001 and 003). Each view parses, makes one call, renders."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.api import rendering, requests
from jobs.api.endpoint import Endpoint, answers
from jobs.api.schemas import (
    CreateJobRequestSerializer,
    JobDataDeletionSerializer,
    JobResultSerializer,
    JobSerializer,
)
from jobs.selectors import contents, jobs
from jobs.services import approvals, cancellations, deletions, results, submissions


class JobsView(Endpoint):
    """`/jobs`."""

    @extend_schema(
        operation_id="createJob",
        tags=["jobs"],
        summary="Submit a job: an input plus a model",
        request=CreateJobRequestSerializer,
        responses=answers(201, JobSerializer, 400, 402, 404, 409, 421, 422, 429),
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
        responses=answers(200, JobSerializer, 404),
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
        responses=answers(200, JobSerializer, 402, 404, 409, 429),
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
        responses=answers(200, JobSerializer, 404, 409),
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

    answers_frozen = True

    @extend_schema(
        operation_id="getJobResult",
        tags=["jobs"],
        summary="Get a link to a job's result file",
        responses=answers(200, JobResultSerializer, 404, 409, 410, 421),
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
        responses=answers(200, JobDataDeletionSerializer, 404) | {202: JobDataDeletionSerializer},
    )
    def delete(self, request: Request, id: str) -> Response:
        """Deletes the data of a finished job, or stops the job first."""
        caller = self.caller
        job = deletions.delete_data(
            organization_id=caller.organization_id, job_id=requests.job_id(id), actor=caller.actor
        )
        return Response(rendering.deletion(job), status=202 if job.data_deleted_at is None else 200)
