"""Neither an empty balance nor a suspension locks anyone out of the console or of results."""

import pytest

from accounts.services import organizations
from anex.core.actors import Actor, system
from billing.selectors import balances
from billing.services import corrections
from jobs import storage
from jobs.lifecycle import Status
from jobs.run import claims
from jobs.run.control import run_control
from jobs.run.finalization import finish_rows
from jobs.storage import keys
from tests.console import scenes
from tests.factories import grant_credits, make_key
from tests.jobs.run.driver import HandLease, approve, chat_line, claim_one, submit, validate

STAFF = Actor("staff", "1")


def finished(acme, data=b'{"custom_id":"row-1"}\n'):
    """A done job whose result file is in the store."""
    job = scenes.done(acme)
    with storage.store().writer(keys.result(job.pk)) as writer:
        writer.write(data)
    job.result_key, job.result_bytes = writer.stored.key, writer.stored.size
    job.save()
    return job


def take_everything(acme):
    corrections.adjust(organization_id=acme.pk, cents=-10_500, reason="charged back", source="c", actor=system("tests"))


@pytest.fixture(params=["empty", "suspended"])
def trouble(request, acme):
    grant_credits(acme)
    if request.param == "empty":
        take_everything(acme)
    else:
        organizations.suspend(organization_id=acme.pk, actor=STAFF, reason="unpaid")
    return request.param


def test_every_page_of_the_console_opens(ada, acme, trouble):
    job = finished(acme)
    for path in ("/dashboard", "/jobs", f"/jobs/{job.pk}", "/keys", "/credits"):
        assert ada.get(path).status_code == 200, path


def test_results_are_still_downloaded_in_the_console(ada, acme, trouble):
    job = finished(acme)
    answer = ada.get(f"/jobs/{job.pk}/result")
    assert answer.status_code == 302
    assert job.result_key in answer["Location"]


def test_empty_balance_refuses_approval_with_the_missing_amount(ada, acme):
    grant_credits(acme, 100)
    job = scenes.quoted(acme)
    html = ada.post(f"/jobs/{job.pk}/approve", follow=True).content.decode()
    assert "Add $3.12 or more and try again." in html


def test_suspension_refuses_every_key_while_a_running_job_goes_on(client, acme):
    grant_credits(acme)
    keys_in_hand = [make_key(acme, name=name) for name in ("one", "two")]
    job = approve(validate(submit(acme, chat_line().encode() + b"\n")))
    organizations.suspend(organization_id=acme.pk, actor=STAFF, reason="unpaid")
    for key in keys_in_hand:
        for path in ("/batch/v1/jobs/" + str(job.pk), "/batch/v1/inputs/" + str(job.input_id)):
            answer = client.get(path, headers={"Authorization": key.header})
            assert answer.status_code == 403
            assert answer.json()["error"] == "org_suspended"
    worker = HandLease()
    assert claims.close(claim_one(worker, "rows"))
    assert finish_rows(job.pk)
    run_control(claim_one(worker, "finalize"))
    job.refresh_from_db()
    assert job.status == Status.DONE
    assert balances.get(acme.pk).held_nano == 0
