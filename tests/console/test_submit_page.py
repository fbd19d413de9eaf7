import json
import re
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
from jobs.selectors import contents
from jobs.services import ingests
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
    assert "prices per million tokens" in html


def test_models_of_every_task_are_offered_the_chat_model_first_and_chosen(ada, served):
    serve(*ENCODERS)
    html = ada.get("/jobs/new").content.decode()
    places = [html.index(f'value="{name}"') for name in (scenes.MODEL, *ENCODERS)]
    assert places == sorted(places)
    assert [label in html for label in ENCODERS.values()] == [True, True]
    assert html.count(" out</span>") == 2  # what writes nothing has no price for it, within an hour or a day
    assert re.search(rf'value="{scenes.MODEL}" data-url="/v1/chat/completions" [^>]+ required checked', html)


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
        assert "Your file is here" in html
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
        ("sample-pictures.jsonl", "scripted-media", 4),
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
    assert "within an hour $0.03 in · $0.12 out" in ada.get("/jobs/new").content.decode()
    form = {"input_id": uploaded, "model": scenes.MODEL, "completion_window": "1h", "priority": "8"}
    assert ada.post("/jobs/new", form).status_code == 302
    job = Job.objects.get()
    assert (job.completion_window, job.share, job.priority) == ("1h", 4, 8)


def test_an_hour_that_no_model_is_sold_with_is_not_offered(ada, served, monkeypatch):
    assert 'name="completion_window"' in ada.get("/jobs/new").content.decode()
    card = msgspec.structs.replace(price_cards.current(scenes.MODEL), windows={})
    monkeypatch.setattr("billing.price_cards.current", lambda _: card)
    assert 'name="completion_window"' not in ada.get("/jobs/new").content.decode()


def test_only_options_of_the_picked_model_reach_the_job(ada, uploaded):
    serve("scripted")
    typed = {
        "reasoning": "on",
        "reasoning_budget": "50",
        "dimensions": "12",
        "video_fps": "3",
        "max_output_tokens": "200",
    }
    form = {"input_id": uploaded, "model": "scripted", "response_format": '{"type": "object"}'} | typed
    assert ada.post("/jobs/new", form | {"response_format": "{"}).status_code == 400
    refused = ada.post("/jobs/new", form).content.decode()
    assert "cannot be combined with response_format" in refused
    assert ada.post("/jobs/new", form | {"reasoning_budget": ""}).status_code == 302
    job = Job.objects.get()
    assert (job.reasoning, job.reasoning_budget, job.dimensions, job.video_fps) == (True, None, None, None)
    assert contents.response_format(job) == {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}


@pytest.mark.parametrize("task", ["chat", "pictures", "decide"])
def test_a_sample_takes_the_place_of_a_file_and_picks_a_model_that_reads_it(ada, acme, served, task):
    serve(*ENCODERS, "scripted-media")
    grant_credits(acme, 500)
    answer = ada.post("/jobs/new/sample", {"sample": task})
    assert answer.status_code == 302
    html = ada.get(answer["Location"]).content.decode()
    chosen = re.search(r'value="([\w.-]+)" data-url="[^"]+" [^>]+ required checked', html)
    assert ("Your file is here" in html, chosen[1]) == (
        True,
        {"chat": scenes.MODEL, "pictures": "scripted-media", "decide": "minilm-decide"}[task],
    )
    ada.post("/jobs/new", {"input_id": Input.objects.get().pk, "model": chosen[1]})
    assert Job.objects.get().input.etag


def test_what_a_sample_or_a_file_form_is_refused_for_is_said_on_the_page(ada, served):
    for path, form in (("sample", {"sample": "chat"}), ("file", {"format": "jsonl"})):
        answer = ada.post(f"/jobs/new/{path}", form)
        assert (answer.status_code, "Add credits and try again" in answer.content.decode()) == (400, True)
    assert "No model that reads this sample" in ada.post("/jobs/new/sample", {"sample": "x"}).content.decode()


def test_without_scripts_a_form_goes_straight_to_the_store_and_leads_back(ada, acme, served):
    grant_credits(acme, 500)
    html = ada.post("/jobs/new/file", {"format": "jsonl"}).content.decode()
    source = Input.objects.get()
    assert 'action="/storage/upload"' in html
    assert f'name="success_action_redirect" value="http://testserver/jobs/new?input={source.pk}"' in html
    assert "There is no file yet" in ada.get(f"/jobs/new?input={source.pk}").content.decode()
    store().put(source.key, SAMPLE.read_bytes())
    html = ada.get(f"/jobs/new?input={source.pk}&bucket=x&key=y&etag=z").content.decode()
    assert f'name="input_id" value="{source.pk}"' in html
    assert ada.get("/jobs/new?input=nonsense").status_code == 404


def test_a_file_is_copied_from_a_url_while_the_form_waits(ada, acme, served, monkeypatch):
    grant_credits(acme, 500)
    monkeypatch.setattr(ingests, "_check_source", lambda url: None)
    form = {"source_url": "https://files.example.com/rows.jsonl", "model": scenes.MODEL, "max_output_tokens": "64"}
    html = ada.post("/jobs/new", form).content.decode()
    source = Input.objects.get()
    assert (f"/jobs/new/input/{source.pk}?awaited=1" in html, 'value="64"' in html) == (True, True)
    assert "files.example.com" not in str(Input.objects.values())
    again = ada.post("/jobs/new", form | {"input_id": source.pk})
    assert ("being copied" in again.content.decode(), Input.objects.count()) == (True, 1)
    stored = store().put(source.key, SAMPLE.read_bytes())
    Input.objects.update(status="ready", etag=stored.etag, size_bytes=stored.size)
    assert "data-ready data-awaited" in ada.get(f"/jobs/new/input/{source.pk}?awaited=1").content.decode()
    assert ada.post("/jobs/new", form | {"input_id": source.pk}).status_code == 302


def test_the_page_asks_the_database_as_often_for_many_models(ada, acme, served, django_assert_max_num_queries):
    serve(*ENCODERS, "scripted")
    with django_assert_max_num_queries(10):
        ada.get("/jobs/new")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"type":"object","minimum":NaN}', '{"const":"\\ud800"}', "1" * 5000])
def test_schema_that_is_no_json_for_others_is_refused(ada, uploaded, text):
    form = {"input_id": uploaded, "model": scenes.MODEL, "response_format": text}
    answer = ada.post("/jobs/new", form)
    assert answer.status_code == 400
    assert "is not valid JSON" in answer.content.decode()


@pytest.mark.parametrize("field", ["max_output_tokens", "reasoning_budget", "dimensions", "priority"])
def test_number_beyond_any_bound_is_refused(ada, uploaded, field):
    serve("scripted", *ENCODERS)
    for model in (scenes.MODEL, "scripted", *ENCODERS):
        answer = ada.post("/jobs/new", {"input_id": uploaded, "model": model, field: "9" * 30})
        assert answer.status_code in (302, 400)
