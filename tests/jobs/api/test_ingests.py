"""POST /inputs with a source_url: what is answered, what is refused, and before whom is contacted."""

import logging
from dataclasses import replace
from ipaddress import ip_address

import pytest
from django.db import connection
from standardwebhooks import Webhook

from anex.core import safe_http
from jobs.models import Ingest, Input
from jobs.services import ingests
from jobs.services.inputs import MAX_INPUT_BYTES
from jobs.storage import store
from tests.factories import make_input, make_key
from tests.jobs.api import stages
from tests.jobs.api.conftest import client_of
from tests.jobs.api.test_reference_schemas import SCHEMAS, judged

INPUTS = "/batch/v1/inputs"
ROWS = b'{"custom_id":"1"}\n'


@pytest.fixture(autouse=True)
def source(https_server, https_rules, monkeypatch):
    monkeypatch.setattr(safe_http, "PUBLIC", https_rules)
    https_server.answer("/rows.jsonl", 200, ROWS)
    return https_server


def create(api, **body):
    return api.post(INPUTS, body, format="json")


def test_create_answers_a_pending_input_with_the_name_it_will_have(api, acme, source):
    answer = create(api, source_url=source.url("/rows.jsonl"))
    body = answer.json()
    assert judged("createInput", answer) == 201
    assert body == {
        "id": body["id"],
        "status": "pending",
        "input_s3_uri": f"s3://anex-world/inputs/{acme.pk}/{body['id']}.jsonl",
        "error": None,
        "expires_at": None,
    }
    assert api.get(f"{INPUTS}/{body['id']}").json() == body


@pytest.mark.parametrize("options", [{"format": "jsonl"}, {"data_residency": "world"}, {"format": None}])
def test_format_and_residency_are_optional(api, source, options):
    assert create(api, source_url=source.url("/rows.jsonl"), **options).status_code == 201


@pytest.mark.parametrize(
    ("path", "given", "format"),
    [
        ("/rows.parquet?signature=x.jsonl", {}, "parquet"),
        ("/rows.jsonl?file=x.parquet", {}, "jsonl"),
        ("/rows", {}, "jsonl"),
        ("/rows", {"format": "parquet"}, "parquet"),
        ("/rows.parquet", {"format": "jsonl"}, "jsonl"),
    ],
)
def test_the_format_is_the_one_given_or_else_that_of_the_url(api, source, path, given, format):
    body = create(api, source_url=source.url(path), **given).json()
    assert body["input_s3_uri"].endswith(f"/{body['id']}.{format}")
    assert Input.objects.get(pk=body["id"]).format == format


def test_the_callback_secret_is_answered_once_and_only_with_a_callback(api, source):
    answer = create(api, source_url=source.url("/rows.jsonl"), callback_url=source.url("/hook"))
    secret = answer.json()["callback_secret"]
    assert judged("createInput", answer) == 201
    assert secret.startswith("whsec_")
    assert Webhook(secret)
    assert "callback_secret" not in api.get(f"{INPUTS}/{answer.json()['id']}").json()
    assert set(answer.json()) <= set(SCHEMAS["Input"]["properties"])
    assert secret != create(api, source_url=source.url("/"), callback_url=source.url("/")).json()["callback_secret"]


def test_urls_and_the_secret_are_in_the_store_and_nowhere_in_the_database(api, acme, source):
    url, hook = source.url("/rows.jsonl?signature=hush"), source.url("/hook-of-mine")
    made = create(api, source_url=url, callback_url=hook).json()
    kept = store().read(f"inputs/{acme.pk}/{made['id']}/request.json").decode()
    assert all(text in kept for text in (url, hook, made["callback_secret"]))
    with connection.cursor() as cursor:
        cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text ~ %s', [r"hush|hook-of-mine|whsec_"])
            assert (table, *cursor.fetchone()) == (table, 0)


def test_neither_urls_nor_secrets_are_logged(api, source, caplog):
    with caplog.at_level(logging.DEBUG):
        made = create(
            api, source_url=source.url("/rows.jsonl?signature=hush"), callback_url=source.url("/x?hush")
        ).json()
        create(api, source_url="https://10.0.0.1/?signature=hush")
    assert "hush" not in caplog.text
    assert made["callback_secret"] not in caplog.text


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://source.test/rows.jsonl", "https"),
        ("ftp://source.test/rows.jsonl", "https"),
        ("file:///etc/passwd", "https"),
        ("https://127.0.0.2/?signature=hush", "127.0.0.2"),
        ("https://inside.test/?signature=hush", "not public"),
        ("https://user:hush@source.test/", "user name"),
        ("https://2130706433/", "host"),
        ("https://source.test:22/", "Port 22"),
        ("https://söurce.test/", "ASCII"),
        ("https://source.test/" + "a" * 5000, "4096"),
    ],
)
@pytest.mark.parametrize("field", ["source_url", "callback_url"])
def test_a_url_where_we_do_not_go_is_400_with_the_reason(api, source, https_rules, monkeypatch, field, url, reason):
    names = {"inside.test": [ip_address("10.0.0.1")]}
    rules = replace(https_rules, resolve=lambda host, port: names.get(host) or https_rules.resolve(host, port))
    monkeypatch.setattr(safe_http, "PUBLIC", rules)
    answer = create(api, **({"source_url": source.url("/rows.jsonl")} | {field: url}))
    assert judged("createInput", answer) == 400
    assert field in answer.json()["detail"]
    assert reason in answer.json()["detail"]
    assert "hush" not in answer.json()["detail"]
    assert not Input.objects.exists()


@pytest.mark.parametrize(
    "value", ["no address", "", 5, True, ["https://source.test/"], {}, "//source.test/", "a\0:b", "a:\ud800"]
)
@pytest.mark.parametrize("field", ["source_url", "callback_url"])
def test_what_is_no_url_is_422(api, source, field, value):
    answer = create(api, **({"source_url": source.url("/rows.jsonl")} | {field: value}))
    assert judged("createInput", answer) == 422


def test_an_announced_size_over_the_cap_is_413_and_nothing_is_kept(api, source):
    source.answer("/big", 200, b"", Content_Length=str(MAX_INPUT_BYTES + 1))
    answer = create(api, source_url=source.url("/big"))
    assert answer.status_code == 413
    assert f"{MAX_INPUT_BYTES:,}" in answer.json()["detail"]
    assert not Input.objects.exists()
    assert list(store().list("")) == []


def test_a_compressed_source_is_400(api, source):
    source.answer("/zip", 200, b"", Content_Encoding="gzip")
    assert create(api, source_url=source.url("/zip")).status_code == 400


@pytest.mark.parametrize("status", [302, 403, 404, 500])
def test_a_source_that_answers_otherwise_is_left_to_the_copy(api, source, status):
    source.answer("/later", status)
    assert create(api, source_url=source.url("/later")).json()["status"] == "pending"


def test_a_source_that_is_slow_or_away_is_left_to_the_copy(api, source, monkeypatch):
    monkeypatch.setattr(ingests, "PREFLIGHT_S", 0.2)
    source.handlers["/slow"] = lambda request, peer: source.stopping.wait(30) and None
    assert create(api, source_url=source.url("/slow")).json()["status"] == "pending"
    assert create(api, source_url=source.url("/", host="other.test")).json()["status"] == "pending"


def test_an_empty_balance_is_402_before_anybody_is_contacted(globex, source):
    answer = create(client_of(make_key(globex)), source_url=source.url("/rows.jsonl"))
    assert judged("createInput", answer) == 402
    assert source.requests == []
    assert not Input.objects.exists()


def test_residency_is_403_before_anybody_is_contacted(api, source):
    answer = create(api, source_url=source.url("/rows.jsonl"), data_residency="eu")
    assert judged("createInput", answer) == 403
    assert source.requests == []


def test_an_input_that_cannot_be_recorded_leaves_nothing_in_the_store(api, source, monkeypatch):
    def fail(**fields):
        raise RuntimeError("no")

    monkeypatch.setattr(Ingest.objects, "create", fail)
    with pytest.raises(RuntimeError):
        create(api, source_url=source.url("/rows.jsonl"))
    assert list(store().list("")) == []
    assert not Input.objects.exists()


@pytest.mark.parametrize("status", ["pending", "copying", "failed"])
def test_submitting_a_copy_that_is_not_ready_is_409(api, acme, status):
    source = make_input(acme, status=status, size_bytes=None)
    answer = api.post("/batch/v1/jobs", {"model": stages.MODEL, "input_id": str(source.pk)}, format="json")
    assert judged("createJob", answer) == 409
    words = {"pending": "not begun", "copying": "being copied", "failed": "could not be copied"}
    assert words[status] in answer.json()["detail"]
