"""POST, GET and cancel of /v1/batches (reference 000, batch endpoints)."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Organization
from accounts.services import freezes
from anex.core import clock
from anex.core.actors import system
from inference.backends import registry
from jobs.lifecycle import Status
from jobs.models import File, Input, Job
from jobs.selectors import contents
from jobs.services import batches as services
from jobs.services import submissions, transitions
from jobs.storage import store
from jobs.storage.interface import StoreUnavailable
from jobs.storage.local import LocalStore
from tests.contract.described import judged
from tests.factories import make_key
from tests.jobs import batches
from tests.jobs.api import stages
from tests.jobs.api.conftest import client_of

CREATE = {"endpoint": batches.ENDPOINT, "completion_window": "24h"}


@pytest.fixture
def file(acme: Organization) -> File:
    registry.configure(
        model_id="scripted", base_url="http://127.0.0.1:9/v1", served_name="scripted", actor=system("tests")
    )
    return batches.upload(acme, batches.line("a"))


def create(api, file, *, headers=None, **fields):
    body = {"input_file_id": f"file-{file.pk.hex}"} | CREATE | fields
    return api.post("/v1/batches", body, format="json", headers=headers or {})


def refusal(answer, status: int) -> tuple[str | None, str, str]:
    assert answer.status_code == status, answer.content
    error = answer.json()["error"]
    assert set(error) >= {"message", "type", "param", "code"}
    return error["param"], error["code"], error["message"]


def test_a_new_batch_validates_and_is_a_job(api, file):
    answer = create(api, file, metadata={"team": "blue"})
    job = Job.objects.get()
    created = int(job.created_at.timestamp())
    assert answer.status_code == 200
    assert answer.json() == {
        "id": f"batch_{job.pk.hex}",
        "object": "batch",
        "endpoint": "/v1/chat/completions",
        "model": "scripted",
        "errors": None,
        "input_file_id": f"file-{file.pk.hex}",
        "completion_window": "24h",
        "status": "validating",
        "output_file_id": None,
        "error_file_id": None,
        "created_at": created,
        "in_progress_at": None,
        "expires_at": created + 24 * 3600,
        "finalizing_at": None,
        "completed_at": None,
        "failed_at": None,
        "expired_at": None,
        "cancelling_at": None,
        "cancelled_at": None,
        "request_counts": {"total": 0, "completed": 0, "failed": 0},
        "usage": None,
        "metadata": {"team": "blue"},
        "anex_job_id": str(job.pk),
    }
    read = api.get(f"/v1/batches/batch_{job.pk.hex}")
    assert read.json() == answer.json()
    assert (judged("createBatch", answer), judged("getBatch", read)) == (200, 200)
    assert api.get(f"/batch/v1/jobs/{job.pk}").json()["status"] == "submitted"
    assert (job.row_profile, job.input_id, job.created_by[:4]) == ("openai", file.pk, "key:")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input_file_id": None}, "input_file_id"),
        ({"input_file_id": 7}, "input_file_id"),
        ({"endpoint": None}, "endpoint"),
        ({"endpoint": "/v1/responses"}, "endpoint"),
        ({"endpoint": "/v1/embeddings"}, "endpoint"),
        ({"completion_window": None}, "completion_window"),
        ({"completion_window": "2h"}, "completion_window"),
        ({"output_expires_after": {"anchor": "created_at", "seconds": 3600}}, "output_expires_after"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {str(number): "" for number in range(17)}}, "metadata"),
        ({"metadata": {"k" * 65: ""}}, "metadata"),
        ({"metadata": {"k": "v" * 513}}, "metadata.k"),
        ({"metadata": {"k": 1}}, "metadata.k"),
    ],
)
def test_what_does_not_fit_is_refused_naming_the_field(api, file, fields, param):
    answer = create(api, file, **fields)
    assert judged("createBatch", answer) == 400
    named, code, message = refusal(answer, 400)
    assert (named, code) == (param, "invalid_request")
    assert param in message
    assert not Job.objects.exists()


@pytest.mark.parametrize("body", [b"[]", b"{", b"null", b""])
def test_a_body_that_is_no_object_is_400(api, body):
    assert refusal(api.generic("POST", "/v1/batches", body, content_type="application/json"), 400)[1] == (
        "invalid_request"
    )


def test_a_body_that_is_too_large_or_no_json_is_told_so(api):
    large = api.generic("POST", "/v1/batches", b" " * 3_000_000, content_type="application/json")
    assert refusal(large, 413)[1] == "too_large"
    assert refusal(api.post("/v1/batches", {"endpoint": "x"}, format="multipart"), 415)[1] == "unsupported_media_type"


def test_metadata_at_its_limits_and_null_fields_are_taken(api, file):
    metadata = {f"{number:064}": "ä" * 512 for number in range(16)}
    answer = create(api, file, metadata=metadata, output_expires_after=None)
    assert answer.json()["metadata"] == metadata
    assert create(api, file, metadata={}).json()["metadata"] is None
    assert create(api, file, metadata=None).json()["metadata"] is None


def test_a_file_that_is_unknown_deleted_or_a_result_is_refused(api, acme, file):
    named, code, _ = refusal(create(api, file, input_file_id="file-" + "0" * 32), 404)
    assert (named, code) == ("input_file_id", "not_found")
    File.objects.update(purged_at=clock.now())
    named, code, message = refusal(create(api, file), 404)
    assert (named, code) == ("input_file_id", "file_deleted")
    assert "deleted" in message
    job = stages.ended(acme)
    result = File.objects.create(
        organization=acme,
        region="world",
        purpose=File.Purpose.BATCH_OUTPUT,
        job=job,
        part="output",
        size_bytes=1,
        created_at=clock.now(),
        expires_at=clock.now() + timedelta(days=1),
    )
    assert refusal(create(api, result), 400)[0] == "input_file_id"


def test_a_file_that_expires_meanwhile_is_not_read(api, file, monkeypatch):
    Input.objects.update(status=Input.State.EXPIRED)
    assert refusal(create(api, file, metadata={"k": "v"}), 409)[1] == "input_expired"
    assert not Job.objects.exists()
    assert not list(store().list("jobs/"))


def test_a_model_that_is_not_offered_any_more_is_named(api, file):
    registry.remove(model_id="scripted", actor=system("tests"))
    named, code, message = refusal(create(api, file), 400)
    assert (named, code) == ("input_file_id", "model_not_found")
    assert "'scripted'" in message


def test_an_empty_balance_is_402(globex, file):
    theirs = batches.upload(globex, batches.line("a"))
    answer = create(client_of(make_key(globex)), theirs)
    assert refusal(answer, 402)[1] == "insufficient_credits"
    assert answer["x-should-retry"] == "false"
    assert not Job.objects.exists()


def test_a_key_is_held_to_its_scopes_and_models(acme, file):
    reader, other = make_key(acme, scopes=frozenset({"batch:read"})), make_key(acme, models=frozenset({"laya"}))
    assert refusal(create(client_of(reader), file), 403)[1] == "missing_scope"
    assert refusal(create(client_of(other), file), 403)[1] == "model_not_allowed"
    assert client_of(reader).get("/v1/batches").status_code == 200
    assert not Job.objects.exists()


def test_a_frozen_api_makes_no_batch(api, file):
    freezes.switch(surface="batch", frozen=True, actor=system("tests"), reason="a migration")
    assert refusal(create(api, file), 503)[1] == "frozen"


def test_the_same_request_under_a_key_makes_one_batch(api, file):
    headers = {"Idempotency-Key": "order-1"}
    first, again = (create(api, file, headers=headers, metadata={"k": "v"}) for _ in range(2))
    assert first.json() == again.json()
    assert Job.objects.count() == 1
    assert len(list(store().list("jobs/"))) == 1
    other = create(api, file, headers=headers)
    assert refusal(other, 409)[1] == "idempotency_key_reused"
    assert other["x-should-retry"] == "false"


@pytest.mark.parametrize("failure", [RuntimeError("bug"), OperationalError("the connection is lost")])
def test_a_failure_after_which_the_batch_may_exist_is_not_sent_again(api, file, monkeypatch, failure):
    real = submissions.create

    def create_and_fail(*arguments, **named):
        real(*arguments, **named)
        raise failure

    monkeypatch.setattr(submissions, "create", create_and_fail)
    answer = create(api, file)
    assert refusal(answer, 500)[1] == "internal_error"
    assert answer["x-should-retry"] == "false"
    assert Job.objects.count() == 1


def test_a_batch_that_was_made_and_cannot_be_shown_is_not_made_again(api, file, monkeypatch):
    def away(*_):
        raise StoreUnavailable("The store is away.")

    monkeypatch.setattr(contents, "batch_metadata", away)
    answer = create(api, file, metadata={"k": "v"})
    assert refusal(answer, 500)[1] == "internal_error"
    assert (answer["x-should-retry"], Job.objects.count()) == ("false", 1)


def test_a_store_that_is_away_makes_no_batch_and_asks_to_wait(api, file, monkeypatch):
    def away(*_):
        raise StoreUnavailable("The store is away.")

    monkeypatch.setattr(LocalStore, "put", away)
    answer = create(api, file, metadata={"k": "v"})
    assert refusal(answer, 503)[1] == "unavailable"
    assert "x-should-retry" not in answer
    assert not Job.objects.exists()


def test_batches_have_a_queue_of_their_own(api, acme, file, monkeypatch):
    monkeypatch.setattr(submissions, "MAX_VALIDATING", 2)
    for _ in range(submissions.MAX_WAITING):
        stages.quoted(acme)
    assert [create(api, file).status_code for _ in range(2)] == [200, 200]
    refused = create(api, file)
    assert refusal(refused, 429)[1] == "too_many_batches"
    assert refused["Retry-After"] == "60"


def test_batches_are_listed_newest_first_page_by_page(api, acme, file):
    made = [create(api, file, metadata={"n": str(number)}).json()["id"] for number in range(5)]
    stages.quoted(acme)
    found, after = [], None
    for size in (2, 2, 1):
        answer = api.get("/v1/batches", {"limit": 2} | ({"after": after} if after else {}))
        page = answer.json()
        assert judged("listBatches", answer) == 200
        assert (page["object"], len(page["data"]), page["has_more"]) == ("list", size, size == 2)
        after = page["last_id"]
        assert (page["first_id"], after) == (page["data"][0]["id"], page["data"][-1]["id"])
        found += page["data"]
    assert [batch["id"] for batch in found] == made[::-1]
    assert [batch["metadata"]["n"] for batch in found] == list("43210")
    with CaptureQueriesContext(connection) as few:
        api.get("/v1/batches", {"limit": 1})
    with CaptureQueriesContext(connection) as many:
        api.get("/v1/batches", {"limit": 100})
    assert len(few) == len(many)


def test_an_empty_list_has_no_ids(api):
    empty = {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}
    assert api.get("/v1/batches").json() == empty


@pytest.mark.parametrize("limit", ["0", "-1", "abc", "101", "10001", "", "1.5", "٣"])
def test_an_impossible_limit_is_400(api, limit):
    assert refusal(api.get("/v1/batches", {"limit": limit}), 400)[0] == "limit"


@pytest.mark.parametrize("after", ["batch_" + "0" * 32, "banana", "", "batch_"])
def test_an_unknown_after_is_400(api, after):
    assert refusal(api.get("/v1/batches", {"after": after}), 400)[0] == "after"


@pytest.mark.parametrize("id", ["batch_" + "0" * 32, "banana", "0" * 32, "batch_" + "A" * 32, "batch_{0}"])
@pytest.mark.parametrize(("method", "path"), [("get", ""), ("post", "/cancel")])
def test_what_names_no_batch_is_404(api, acme, id, method, path):
    named = id.format(stages.quoted(acme).pk.hex)
    assert refusal(getattr(api, method)(f"/v1/batches/{named}{path}"), 404)[1] == "not_found"


@pytest.mark.parametrize("make", [stages.submitted, stages.quoted])
@pytest.mark.parametrize("status", [None, Status.ESTIMATING])
def test_a_validating_batch_is_cancelled_at_once_and_for_free(api, acme, make, status):
    job = batches.make(make(acme, **({"status": status} if status else {})))
    path = f"/v1/batches/batch_{job.pk.hex}/cancel"
    first = api.post(path)
    assert (first.status_code, first.json()["status"]) == (200, "cancelled")
    assert first.json()["cancelled_at"] is not None
    assert (first.json()["output_file_id"], first.json()["error_file_id"]) == (None, None)
    assert api.post(path).json() == first.json()
    job.refresh_from_db()
    assert job.charge_cents == 0


def test_a_running_batch_is_cancelling_until_its_files_are_written(api, acme):
    job = batches.make(stages.running(acme))
    path = f"/v1/batches/batch_{job.pk.hex}/cancel"
    assert judged("cancelBatch", api.post(path)) == 200
    answers = [api.post(path).json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert (answers[0]["status"], answers[0]["cancelled_at"]) == ("cancelling", None)
    assert answers[0]["cancelling_at"] is not None
    assert job.chunks.get(kind="finalize").closed is False


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"status": Status.DONE}, "completed"),
        ({"status": Status.FAILED, "failure_code": "internal_error"}, "failed"),
        ({"status": Status.CANCELLED, "stop_reason": "expired"}, "expired"),
        ({"status": Status.FINALIZING, "finished_at": None}, "finalizing"),
        ({"status": Status.CANCELLING, "stop_reason": "expired", "finished_at": None}, "finalizing"),
    ],
)
def test_it_can_be_too_late_to_cancel(api, acme, fields, status):
    job = batches.make(stages.ended(acme, **fields))
    answer = api.post(f"/v1/batches/batch_{job.pk.hex}/cancel")
    assert refusal(answer, 409)[2] == f"It is too late to cancel this batch: it is {status}."
    assert judged("cancelBatch", answer) == 409
    assert answer["x-should-retry"] == "false"
    shown = api.get(f"/v1/batches/batch_{job.pk.hex}").json()
    assert shown["status"] == status
    ended = {name for name in ("completed_at", "failed_at", "cancelled_at", "expired_at") if shown[name]}
    assert ended == ({f"{status}_at"} if status != "finalizing" else set())


def test_counts_and_usage_are_live(api, acme):
    job = batches.make(stages.running(acme))
    path = f"/v1/batches/batch_{job.pk.hex}"
    assert api.get(path).json()["usage"] is None
    stages.part(job, success_rows=3, truncated_rows=2, cached_tokens=4)
    stages.part(job, index=1, success_rows=0, error_rows=1, format_error_rows=4)
    assert judged("getBatch", api.get(path)) == 200
    shown = api.get(path).json()
    assert shown["request_counts"] == {"total": 100, "completed": 5, "failed": 5}
    assert shown["usage"] == {
        "input_tokens": 20,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": None},
        "total_tokens": 40,
    }
    assert (shown["status"], shown["in_progress_at"]) == ("in_progress", int(job.approved_at.timestamp()))


def test_a_running_batch_says_when_it_began_to_finalize(api, acme):
    job = batches.make(stages.running(acme))
    transitions.advance(job.pk, to=Status.FINALIZING, actor=system("tests"))
    shown = api.get(f"/v1/batches/batch_{job.pk.hex}").json()
    assert (shown["status"], shown["cancelling_at"]) == ("finalizing", None)
    assert shown["finalizing_at"] >= shown["in_progress_at"]


def test_a_native_cancel_stops_a_batch_that_is_estimating(api, acme):
    job = batches.make(stages.submitted(acme, status=Status.ESTIMATING))
    assert api.post(f"/batch/v1/jobs/{job.pk}/cancel").json()["status"] == "cancelled"


def test_only_the_window_of_batches_closes(acme):
    now = clock.now()
    made = {
        name: batches.make(make(acme))
        for name, make in (("submitted", stages.submitted), ("quoted", stages.quoted), ("running", stages.running))
    }
    made["finalizing"] = batches.make(stages.running(acme, status=Status.FINALIZING))
    native, young = stages.running(acme), batches.make(stages.running(acme))
    Job.objects.exclude(pk=young.pk).update(created_at=now - timedelta(hours=24))
    assert services.expire(now) == 3
    states = {name: (batches.status_of(job), job.stop_reason) for name, job in made.items()}
    assert states == {
        "submitted": ("cancelled", "expired"),
        "quoted": ("cancelled", "expired"),
        "running": ("cancelling", "expired"),
        "finalizing": ("finalizing", ""),
    }
    assert (batches.status_of(native), batches.status_of(young)) == ("in_progress", "in_progress")
    assert made["quoted"].charge_cents == 0
    assert services.expire(now) == 0
