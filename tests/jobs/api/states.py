"""Every state a job or an input can be in, by the names that the tables of answers use."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from accounts.models import Organization
from anex.core import clock
from jobs.lifecycle import Status
from jobs.models import Input, Job
from jobs.services import cancellations, erasing
from jobs.services.endings import NOTHING_RAN
from jobs.services.inputs import UPLOAD_GRACE
from jobs.storage import store
from tests.factories import make_input
from tests.jobs import stored
from tests.jobs.api import stages

NO_ROW = {"result_key": "", "result_rows": None, "success_rows": 0, "partial": False}
ALL_ROWS = {"success_rows": 96, "error_rows": 0, "format_error_rows": 0, "truncated_rows": 4}
REFUSED = NOTHING_RAN | {"status": Status.FAILED, "failure_code": "invalid_input"}
HOUR = timedelta(hours=1)


def running(acme: Organization, **fields: Any) -> Job:
    job = stages.running(acme, **fields)
    stages.claim(job, by=stages.worker())
    return job


def answered(acme: Organization, **fields: Any) -> Job:
    job = stages.running(acme, **fields)
    stages.part(job)
    return job


def cancelled(job: Job) -> Job:
    return cancellations.cancel(organization_id=job.organization_id, job_id=job.pk, actor=stages.BUILDER)


def deleted(acme: Organization, status: Status = Status.DONE) -> Job:
    job = stored.ended(acme, status)
    erasing.erase(job)
    return job


JOB_STATES: dict[str, Callable[[Organization], Job]] = {
    "submitted": stages.submitted,
    "estimating": lambda acme: stages.submitted(acme, status=Status.ESTIMATING),
    "quoted": stages.quoted,
    "quoted, lapsed": lambda acme: stages.quoted(acme, approval_expires_at=clock.now()),
    "running, nothing in flight": stages.running,
    "running, rows in flight": running,
    "running, rows answered": answered,
    "paused, nothing in flight": lambda acme: stages.running(acme, paused=True),
    "paused, rows in flight": lambda acme: running(acme, paused=True),
    "paused, rows answered": lambda acme: answered(acme, paused=True),
    "cancelling": lambda acme: running(acme, status=Status.CANCELLING),
    "cancelling, to be deleted": lambda acme: running(acme, status=Status.CANCELLING, deletion_asked_at=clock.now()),
    "cancelling, once paused": lambda acme: cancelled(running(acme, paused=True)),
    "finalizing": lambda acme: stages.running(acme, status=Status.FINALIZING),
    "done": stages.ended,
    "done, past its days": lambda acme: stages.ended(acme, data_expires_at=clock.now()),
    "done, to be deleted": lambda acme: stages.ended(acme, deletion_asked_at=clock.now()),
    "done, deleted": deleted,
    "done, every row answered": lambda acme: stages.ended(acme, **ALL_ROWS),
    "done, its input past its days": lambda acme: stages.ended(acme, input=make_input(acme, expires_at=clock.now())),
    "failed with rows": lambda acme: stages.ended(acme, Status.FAILED, failure_code="internal_error"),
    "failed without a row": lambda acme: stages.ended(acme, Status.FAILED, **NO_ROW, failure_code="invalid_input"),
    "failed before rows were counted": lambda acme: stages.submitted(acme, **REFUSED),
    "cancelled with rows": lambda acme: stages.ended(acme, Status.CANCELLED),
    "cancelled without a row": lambda acme: stages.ended(acme, Status.CANCELLED, **NO_ROW),
    "cancelled, once paused": lambda acme: cancelled(stages.running(acme, paused=True)),
    "cancelled, deleted": lambda acme: deleted(acme, Status.CANCELLED),
}


def awaited(acme: Organization, **fields: Any) -> Input:
    defaults = {"status": "awaiting_upload", "etag": "", "size_bytes": None, "upload_expires_at": clock.now() + HOUR}
    return make_input(acme, **(defaults | fields))


def landed(acme: Organization) -> Input:
    source = awaited(acme)
    store().put(source.key, b"rows\n")
    return source


INPUT_STATES: dict[str, Callable[[Organization], Input]] = {
    "awaited": awaited,
    "landed, not looked at yet": landed,
    "never came": lambda acme: awaited(acme, upload_expires_at=clock.now() - UPLOAD_GRACE),
    "to be copied": lambda acme: make_input(acme, status="pending"),
    "being copied": lambda acme: make_input(acme, status="copying"),
    "not copied": lambda acme: make_input(acme, status="failed"),
    "ready": make_input,
    "past its days": lambda acme: make_input(acme, expires_at=clock.now()),
    "expired": lambda acme: make_input(acme, status="expired"),
    "deleted with another job": lambda acme: deleted(acme).input,
}
