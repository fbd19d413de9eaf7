"""What staff do to a job that cannot go on: its work is freed, or it ends by our fault and its owner reads why."""

import pytest

from accounts.models import AuditEvent, Organization
from anex.core.actors import Actor
from anex.core.errors import Conflict, InvalidRequest
from billing.selectors import balances
from jobs.models import Chunk, Job
from jobs.run import claims
from jobs.run.control import run_control
from jobs.selectors import contents
from jobs.services import interventions
from tests.jobs.run.driver import HandLease, approve, chat_line, claim_one, submit, validate

STAFF = Actor("staff", "1")


def intervene(verb: str, job: Job, reason: str = "a broken disk") -> Job:
    getattr(interventions, verb)(organization_id=job.organization_id, job_id=job.pk, actor=STAFF, reason=reason)
    return Job.objects.get(pk=job.pk)


def last_event() -> tuple[str, str]:
    event = AuditEvent.objects.filter(actor_kind="staff").latest("pk")
    return event.action, event.reason


def test_requeued_work_is_another_workers_and_its_former_holder_commits_nothing(acme: Organization) -> None:
    job = approve(validate(submit(acme, chat_line().encode())))
    holder = HandLease()
    stuck = claim_one(holder, "rows")
    assert stuck
    intervene("requeue", job)
    assert last_event() == ("job.staff_requeue", "a broken disk")
    assert not claims.close(stuck)
    again = claims.claim(holder, region="world", kinds=["rows"], models=["scripted"], limit=1, held=[stuck.id])  # type: ignore[arg-type]
    assert again == []
    assert claim_one(HandLease(), "rows")
    intervene("requeue", job)


def test_a_running_job_fails_with_what_it_finished_and_its_reason(acme: Organization) -> None:
    job = approve(validate(submit(acme, chat_line().encode())))
    rows = claim_one(HandLease(), "rows")
    failing = intervene("fail", job)
    assert (failing.status, failing.stop_reason) == ("finalizing", "internal_error")
    assert rows and not claims.close(rows)
    with pytest.raises(Conflict, match="too late"):
        intervene("fail", job)
    last = claim_one(HandLease(), "finalize")
    assert last
    run_control(last)
    ended = Job.objects.get(pk=job.pk)
    assert (ended.status, ended.failure_code, ended.charge_cents) == ("failed", "internal_error", 0)
    failure = contents.failure(ended)
    assert failure and failure.reason == "a broken disk"
    assert balances.get(acme.pk).held_nano == 0
    with pytest.raises(Conflict, match="nothing to do"):
        intervene("requeue", job)


def test_a_job_without_a_quote_fails_at_no_charge_and_a_quote_is_cancelled_instead(acme: Organization) -> None:
    job = submit(acme, chat_line().encode())
    failed = intervene("fail", job)
    assert (failed.status, failed.failure_code, failed.charge_cents) == ("failed", "internal_error", 0)
    assert not Chunk.objects.filter(job=job, closed=False).exists()
    assert last_event() == ("job.staff_fail", "a broken disk")
    quoted = validate(submit(acme, chat_line().encode()))
    with pytest.raises(Conflict, match="cancel it"):
        intervene("fail", quoted)
    with pytest.raises(InvalidRequest, match="reason"):
        intervene("cancel", quoted, reason=" ")
    assert intervene("cancel", quoted).status == "cancelled"
