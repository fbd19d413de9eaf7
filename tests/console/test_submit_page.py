import json
from pathlib import Path

import msgspec
import pytest
from django.conf import settings as django_settings
from django.test import Client

from anex.core.actors import system
from billing import price_cards
from inference import catalogue
from inference.backends import registry
from inference.models import Backend
from inference.requests.rows import RowOptions, parse
from jobs.models import Input, Job
from jobs.storage import store
from tests.console import scenes
from tests.factories import actor_of, add_member, grant_credits, make_organization, make_user

SAMPLES = Path(django_settings.BASE_DIR) / "static" / "console"
SAMPLE = SAMPLES / "sample.jsonl"
ENCODERS = {"minilm-l6-v2": "Embeddings", "minilm-decide": "Decisions"}


@pytest.fixture
def served(db):
    """A live server of the small model."""
    return Backend.objects.create(
        model_id=scenes.MODEL, base_url="http://127.0.0.1:9/v1", served_name="small", source="configured"
    )


@pytest.fixture
def uploaded(ada, acme, served):
    """The id of an input whose file has landed in the store."""
    grant_credits(acme, 500)
    input_id = ada.post("/jobs/new/upload").json()["input_id"]
    store().put(Input.objects.get(pk=input_id).key, SAMPLE.read_bytes())
    return input_id


def serve(*model_ids):
    for model_id in model_ids:
        Backend.objects.create(
            model_id=model_id, base_url="http://127.0.0.1:9/v1", served_name=model_id, source="configured"
        )


def test_models_are_offered_with_price_and_context(ada, served):
    html = ada.get("/jobs/new").content.decode()
    model = catalogue.get(scenes.MODEL)
    assert f'value="{model.id}"' in html
    assert f"{model.context_tokens:,} tokens of context" in html
    assert "per million tokens" in html


def test_models_of_every_task_are_offered_the_chat_model_first_and_chosen(ada, served):
    serve(*ENCODERS)
    html = ada.get("/jobs/new").content.decode()
    places = [html.index(f'value="{name}"') for name in (scenes.MODEL, *ENCODERS)]
    assert places == sorted(places)
    assert [label in html for label in ENCODERS.values()] == [True, True]
    assert html.count(" out<br>") == 1  # what writes nothing has no price for it
    assert f'value="{scenes.MODEL}" data-task="chat" required checked' in html


@pytest.mark.parametrize("model", ENCODERS)
def test_options_typed_before_another_kind_of_model_was_picked_do_not_count(ada, uploaded, model):
    serve(model)
    form = {"input_id": uploaded, "model": model, "max_output_tokens": "64", "temperature": "0.5"}
    assert ada.post("/jobs/new", form).status_code == 302
    job = Job.objects.get()
    assert (job.model_id, job.requested_max_output_tokens, job.temperature) == (model, None, None)


def test_form_says_beforehand_that_there_are_no_credits(ada, acme, served):
    html = ada.get("/jobs/new").content.decode()
    assert f"{acme.name} has no credits" in html
    assert "data-submit disabled" in html
    grant_credits(acme, 500)
    html = ada.get("/jobs/new").content.decode()
    assert "no credits" not in html
    assert "data-submit disabled" not in html


def test_model_without_a_live_server_is_not_offered(ada, served):
    registry.switch(enabled=False, model_id=served.model_id, actor=system("tests"))
    html = ada.get("/jobs/new").content.decode()
    assert scenes.MODEL not in html
    assert "No model server is answering" in html


def test_upload_target_is_a_form_of_this_host(ada, acme):
    grant_credits(acme, 500)
    answer = ada.post("/jobs/new/upload")
    assert answer.status_code == 201
    body = answer.json()
    assert Input.objects.get(pk=body["input_id"]).organization_id == acme.pk
    assert body["url"].startswith("/")
    assert "policy" in body["fields"]


def test_parquet_file_is_uploaded_as_one(ada, acme):
    grant_credits(acme, 500)
    created = ada.post("/jobs/new/upload", {"format": "parquet"}).json()
    assert Input.objects.get(pk=created["input_id"]).format == "parquet"
    assert ada.post("/jobs/new/upload", {"format": "csv"}).status_code == 422


def test_upload_without_credits_is_refused_with_the_reason(ada):
    answer = ada.post("/jobs/new/upload")
    assert answer.status_code == 402
    assert "Add credits" in answer.json()["detail"]


def test_submitting_creates_the_job_with_its_options_and_leads_to_it(ada, acme, uploaded):
    form = {"input_id": uploaded, "model": scenes.MODEL, "max_output_tokens": "64", "temperature": "0.5"}
    answer = ada.post("/jobs/new", form)
    job = Job.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/jobs/{job.pk}")
    assert (job.organization_id, job.model_id) == (acme.pk, scenes.MODEL)
    assert (job.requested_max_output_tokens, job.temperature) == (64, 0.5)
    assert job.created_by == str(actor_of(make_user("ada")))


def test_options_left_empty_are_left_to_the_estimate_and_the_model(ada, uploaded):
    ada.post("/jobs/new", {"input_id": uploaded, "model": scenes.MODEL, "max_output_tokens": "", "temperature": ""})
    job = Job.objects.get()
    assert (job.requested_max_output_tokens, job.temperature) == (None, None)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"input_id": ""}, "Choose a file"),
        ({"model": "nobody"}, "Select a valid choice"),
        ({"temperature": "3"}, "less than or equal to 2"),
        ({"max_output_tokens": "0"}, "greater than or equal to 1"),
        ({"max_output_tokens": "20000"}, "ceiling of"),
    ],
)
def test_refusal_comes_back_beside_its_field_with_the_upload_kept(ada, uploaded, change, said):
    form = {"input_id": uploaded, "model": scenes.MODEL} | change
    answer = ada.post("/jobs/new", form)
    html = answer.content.decode()
    assert answer.status_code == 400
    assert said in html
    if form["input_id"]:
        assert "Your file is uploaded" in html
        assert f'value="{uploaded}"' in html
    assert not Job.objects.exists()


def test_input_of_another_organization_is_not_found(ada, acme, served):
    grant_credits(acme, 500)
    foreign = Input.objects.create(
        organization=make_organization("Globex"), status="ready", key="tests/foreign", created_by="user:0"
    )
    assert ada.post("/jobs/new", {"input_id": foreign.pk, "model": scenes.MODEL}).status_code == 404
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("file", "model_id", "count"),
    [
        ("sample.jsonl", scenes.MODEL, 20),
        ("sample-embeddings.jsonl", "minilm-l6-v2", 10),
        ("sample-decisions.jsonl", "minilm-decide", 8),
    ],
)
def test_sample_files_are_made_of_valid_rows(ada, file, model_id, count):
    assert f"/static/console/{file}" in ada.get("/jobs/new").content.decode()
    model = catalogue.get(model_id)
    rows = [parse(line, model=model, options=RowOptions()) for line in (SAMPLES / file).read_bytes().splitlines()]
    assert len({row.custom_id for row in rows}) == len(rows) == count
    assert json.loads(SAMPLE.read_bytes().splitlines()[0])["custom_id"] == "row-01"


def test_who_may_add_credits_is_led_there_and_others_to_who_can(ada, acme, served):
    assert '<a href="/credits/add">Add credits</a>' in ada.get("/jobs/new").content.decode()
    browser = Client()
    browser.force_login(add_member(acme, "mary", role="member"))
    assert all("Ask an owner or admin" in browser.get(path).content.decode() for path in ("/jobs/new", "/dashboard"))


def test_an_hour_is_offered_with_its_price_and_kept(ada, uploaded):
    assert "150 % of that within an hour" in ada.get("/jobs/new").content.decode()
    form = {"input_id": uploaded, "model": scenes.MODEL, "completion_window": "1h", "priority": "8"}
    assert ada.post("/jobs/new", form).status_code == 302
    job = Job.objects.get()
    assert (job.completion_window, job.share, job.priority) == ("1h", 4, 8)


def test_an_hour_that_no_model_is_sold_with_is_not_offered(ada, served, monkeypatch):
    assert 'name="completion_window"' in ada.get("/jobs/new").content.decode()
    card = msgspec.structs.replace(price_cards.current(scenes.MODEL), windows={})
    monkeypatch.setattr("billing.price_cards.current", lambda _: card)
    assert 'name="completion_window"' not in ada.get("/jobs/new").content.decode()
