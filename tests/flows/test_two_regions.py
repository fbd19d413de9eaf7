"""Two regions on one Postgres: no object of one is in the other, and nothing that they share holds what rows say.

The suite has both on local disk; `make regions` also in two buckets, and cancels what is being estimated.
"""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from jobs.storage.s3 import connect
from tests.flows.regions import Region, line, read_tables, two_regions
from tests.https import Authority, serving
from tests.inference.media import clips

Pair = tuple[Region, Region]
MARK = "qzx"
WHOLE = os.environ.get("ANEX_TEST_REGIONS") == "all"


@pytest.fixture(params=["disk", "buckets"] if WHOLE else ["disk"])
def regions(authority: Authority, request: pytest.FixtureRequest) -> Iterator[Pair]:
    with (
        ExitStack() as around,
        tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as folder,
        serving(authority) as customer,
    ):
        buckets = around.enter_context(two_buckets()) if request.param == "buckets" else {}
        yield around.enter_context(two_regions(Path(folder), customer, authority, buckets))


@contextmanager
def two_buckets() -> Iterator[dict[str, dict[str, str]]]:
    """Where each region's objects go, by its settings."""
    from tests.jobs.storage import strict_s3  # takes seconds

    with strict_s3.serving() as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", strict_s3.ACCESS_KEY)
        patch.setenv("AWS_SECRET_ACCESS_KEY", strict_s3.SECRET)
        place = {"ANEX_S3_ENDPOINT_URL": url, "ANEX_S3_REGION": strict_s3.REGION}
        for name in ("world", "eu"):
            connect(endpoint_url=url, region=strict_s3.REGION).create_bucket(Bucket=f"anex-{name}")
        yield {name: place | {"ANEX_S3_BUCKET": f"anex-{name}"} for name in ("world", "eu")}


def until(look: Callable[[], Any], reached: Callable[[Any], bool]) -> Any:
    deadline = time.monotonic() + 90
    while not reached(found := look()):
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
    return found


class Writer:
    """A customer of a region who writes a mark, with the region's name, in every place there is."""

    def __init__(self, region: Region, http: httpx.Client) -> None:
        self.region, self.http = region, http

    def mark(self, place: str) -> str:
        return f"{MARK}-{self.region.name}-{place}"

    def schema(self) -> dict[str, Any]:
        shape = {
            "type": "object",
            "properties": {self.mark("property"): {"enum": [self.mark("enum")]}},
            "required": [self.mark("property")],
            "additionalProperties": False,
        }
        return {"type": "json_schema", "json_schema": {"name": self.mark("schema"), "strict": True, "schema": shape}}

    def tools(self) -> list[dict[str, Any]]:
        function = {"name": self.mark("tool"), "description": self.mark("about"), "parameters": {"type": "object"}}
        return [{"type": "function", "function": function}]

    def call(self, method: str, path: str, status: int = 200, **options: Any) -> httpx.Response:
        answer = self.http.request(method, path, **options)
        assert answer.status_code == status, (path, answer.text)
        return answer

    def until(self, path: str, reached: Callable[[Any], bool]) -> Any:
        return until(lambda: self.call("GET", path).json(), reached)

    def write_everywhere(self) -> None:
        self.run_jobs()
        self.run_batch()
        self.upload_picture()
        self.ask()

    def run_jobs(self) -> None:
        """Copied from a URL, with a schema; uploaded with a row that fails and one that is broken; cancelled."""
        rows = [line(self.mark(f"id-{number}"), f"{self.mark('text')} {number}") for number in range(3)]
        customer, path = self.region.customer, f"/{self.mark('path')}.jsonl"
        customer.answer(path, 200, "\n".join(rows).encode())
        customer.answer(f"/hook/{self.region.name}", 500, self.mark("receiver").encode())
        asked = {"source_url": customer.url(f"{path}?token={self.mark('token')}")}
        asked["callback_url"] = customer.url(f"/hook/{self.region.name}?token={self.mark('callback')}")
        copied = self.call("POST", "/batch/v1/inputs", 201, json=asked).json()
        missing = self.call(
            "POST", "/batch/v1/inputs", 201, json={"source_url": customer.url(f"/{self.mark('none')}")}
        ).json()
        self.until(f"/batch/v1/inputs/{copied['id']}", lambda found: found["status"] == "ready")
        self.until(f"/batch/v1/inputs/{missing['id']}", lambda found: found["status"] == "failed")
        options = {"input_id": copied["id"], "model": "scripted", "response_format": self.schema()}
        first = self.call("POST", "/batch/v1/jobs", 201, json=options).json()["id"]
        failing = line(self.mark("failing"), f"[[status 400]] {self.mark('refused')}")
        second = self.region.submit([*rows, failing])
        broken = self.region.submit([*rows, json.dumps({"custom_id": self.mark("broken"), self.mark("field"): 1})])
        for job in (first, second):
            self.region.wait_until_priced(job)
            self.call("POST", f"/batch/v1/jobs/{job}/approve")
        for job in (first, second):
            self.region.wait_for(job, "done")
            assert self.mark("id-0") in json.dumps(self.region.result(job))
        assert self.region.wait_until_priced(broken)["status"] == "failed"

    def run_batch(self) -> None:
        """A file of the OpenAI-compatible host with a name, tools, metadata; one that is refused."""
        lines = [line(self.mark("batch-id"), self.mark("batch-text"), model="scripted", tools=self.tools())]
        sent = {"file": (self.mark("name.jsonl"), "\n".join(lines).encode())}
        file = self.call("POST", "/v1/files", data={"purpose": "batch"}, files=sent).json()["id"]
        wrong = {"file": (self.mark("wrong.jsonl"), f'{{"{self.mark("wrong")}": 1}}'.encode())}
        self.call("POST", "/v1/files", 400, data={"purpose": "batch"}, files=wrong)
        asked = {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        asked["metadata"] = {self.mark("key"): self.mark("value")}
        batch = self.call("POST", "/v1/batches", json=asked).json()["id"]
        done = self.until(f"/v1/batches/{batch}", lambda found: found["status"] == "completed")
        assert self.mark("batch-id") in self.call("GET", f"/v1/files/{done['output_file_id']}/content").text

    def upload_picture(self) -> None:
        """What requests name by a URL."""
        target = self.call("POST", "/openai/v1/uploads", json={"content_type": "image/png"}).json()
        content = clips.picture("png") + self.mark("picture").encode()
        sent = httpx.post(target["upload_url"], data=target["fields"], files={"file": (self.mark("file.png"), content)})
        assert sent.status_code == 204, sent.text

    def ask(self) -> None:
        """Chats, whole, streamed, kept, refused and failed; the Responses API, embeddings of an unknown model."""
        said = {"model": "scripted", "messages": [{"role": "user", "content": self.mark("said")}], "max_tokens": 9}
        more = {"tools": self.tools(), "user": self.mark("user"), "metadata": {self.mark("key"): self.mark("value")}}
        path = "/openai/v1/chat/completions"
        for _ in range(2):
            self.call("POST", path, json=said, headers={"Idempotency-Key": self.mark("key")})
        self.call("POST", "/v1/chat/completions", json=said | more | {"stream": True})
        self.call("POST", "/v1/chat/completions", 400, json=said | {self.mark("parameter"): 1, "n": self.mark("n")})
        self.call("POST", "/v1/chat/completions", 404, json=said | {"model": self.mark("model")})
        failing = [{"role": "user", "content": f"[[status 500]] {self.mark('failing')}"}]
        assert self.http.post("/v1/chat/completions", json=said | {"messages": failing}).status_code >= 500
        self.call("POST", "/v1/responses", json={"model": "scripted", "input": self.mark("input")})
        assert self.http.post("/v1/chat/completions", content=f'{{"{self.mark("cut")}').status_code == 400


def assert_store_is_its_own(region: Region, other: Region) -> None:
    """Own words and own ids are in it, nothing of the other's."""
    objects = region.objects
    written = b"\n".join(objects.values())
    for place in ("id-0", "text", "batch-id", "name", "value", "schema", "property", "picture", "field"):
        assert f"{MARK}-{region.name}-{place}".encode() in written, place
    foreign = f"{MARK}-{other.name}".encode()
    assert [key for key, content in objects.items() if foreign in content or foreign in key.encode()] == []
    kept_here = {found for table in ("jobs_job", "jobs_input", "jobs_file") for found in ids(region, table)}
    assert region.owners() <= kept_here
    assert len(kept_here) >= 6


def ids(region: Region, table: str, where: str = "true") -> list[Any]:
    return [found for (found,) in region.query(f"SELECT id FROM {table} WHERE region = '{region.name}' AND {where}")]


def write(regions: Pair) -> None:
    """Both customers write everywhere, at the same time, and are told of it."""

    def fill(region: Region) -> None:
        with region.calling(region) as http:
            Writer(region, http).write_everywhere()

    with ThreadPoolExecutor() as threads:
        list(threads.map(fill, regions))
    world, _ = regions
    until(lambda: {each.path for each in hooks(world.customer.requests)}, lambda found: len(found) == 2)
    for region in regions:
        region.sweep("accounts.sweep")
    until(lambda: list(world.mails.iterdir()), bool)


def hooks(requests: list[Any]) -> list[Any]:
    return [each for each in requests if each.path in ("/hook/world", "/hook/eu")]


def assert_stores_are_apart(written: Pair) -> None:
    world, eu = written
    with psycopg.connect(world.postgres.url(), autocommit=True) as connection:
        connection.execute("CHECKPOINT")
    assert_store_is_its_own(world, eu)
    assert_store_is_its_own(eu, world)
    assert not set(world.objects) & set(eu.objects)
    assert {table for table, row in read_tables(world) if MARK in row or MARK.encode().hex() in row} == set()
    for region, other in (written, written[::-1]):
        sent = region.journal.read_text()
        assert f"{MARK}-{region.name}-said" in sent
        assert f"{MARK}-{other.name}" not in sent
        assert MARK.encode() not in region.metrics()
        assert MARK.encode() not in region.kept()
        files = list(region.shared_files())
        assert {"web.log", "worker-0.log", "engine.log"} <= {file.name for file in files}
        assert [str(file) for file in files if MARK.encode() in file.read_bytes()] == []


def assert_estimates_ran_at_home(written: Pair) -> None:
    for region, other in (written, written[::-1]):
        sampled = region.query(
            "SELECT count(*) FROM jobs_chunk c JOIN jobs_job j ON j.id = c.job_id"
            f" WHERE c.kind = 'sample' AND j.region = '{region.name}'"
        )
        assert sampled[0][0] > 0
        assert f"{MARK}-{region.name}-text" in region.journal.read_text()
        assert f"{MARK}-{region.name}-text" not in other.journal.read_text()


def assert_webhooks_and_e_mails_say_nothing_of_rows(written: Pair) -> None:
    world, _ = written
    sent = hooks(world.customer.requests)
    assert {each.path for each in sent} == {"/hook/world", "/hook/eu"}
    assert [each for each in sent if MARK in each.body.decode() or MARK in str(each.headers)] == []
    mails = [file.read_text() for file in world.mails.iterdir()]
    assert [mail for mail in mails if MARK in mail] == []


def assert_apis_tell_the_address_or_nothing(written: Pair) -> None:
    for region, other in (written, written[::-1]):
        job, source = ids(region, "jobs_job", "status = 'done'")[0], ids(region, "jobs_input")[0]
        file = f"/v1/files/file-{ids(region, 'jobs_file')[0].hex}"
        [(batch,)] = region.query(
            f"SELECT b.job_id FROM jobs_batch b JOIN jobs_job j ON j.id = b.job_id WHERE j.region = '{region.name}'"
        )
        asked = {"input_file_id": file.rpartition("/")[2], "endpoint": "/v1/chat/completions"}
        with region.calling(other) as http, region.calling(region) as at_home:
            for path in (f"/batch/v1/jobs/{job}/result", f"/batch/v1/inputs/{source}", file, f"{file}/content"):
                answer = http.get(path)
                told = answer.json().get("error", answer.json())
                assert (path, answer.status_code, told["residency"]) == (path, 421, region.name)
                assert told["api"] == f"https://not-{other.name}.test"
                assert at_home.get(path).status_code in (200, 404, 410), path
            assert http.post("/v1/batches", json=asked | {"completion_window": "24h"}).status_code == 421
            for path in (f"/batch/v1/jobs/{job}", "/batch/v1/jobs", f"/v1/batches/batch_{batch.hex}", "/v1/batches"):
                answer = http.get(path)
                assert (path, answer.status_code) == (path, 200)
                assert MARK not in answer.text
            assert http.get("/v1/files").json()["data"] == []
            [failed] = ids(region, "jobs_job", "status = 'failed'")
            assert http.get(f"/batch/v1/jobs/{failed}").json()["failure_reason"] is None


def assert_consoles_show_no_content(written: Pair) -> None:
    for region, other in (written, written[::-1]):
        job = ids(region, "jobs_job", "status = 'done'")[0]
        failed = ids(region, "jobs_job", "status = 'failed'")[0]
        with region.browsing(other) as away, region.browsing(region) as at_home:
            paths = ["/dashboard", "/jobs", "/usage", "/webhooks", "/audit", f"/jobs/{job}", f"/jobs/{failed}"]
            for path in paths:
                answer = away.get(path)
                assert (path, answer.status_code, MARK in answer.text) == (path, 200, False)
            assert str(job) in away.get("/jobs").text
            rows = f"/jobs/{job}/results"
            assert (away.get(rows).status_code, MARK in away.get(rows).text) == (421, False)
            assert (at_home.get(rows).status_code, MARK in at_home.get(rows).text) == (200, True)


def listed(http: httpx.Client) -> dict[str, list[str]]:
    """The models of both hosts; that of the batch API's has no chats."""
    found = {path: http.get(path).json()["data"] for path in ("/v1/models", "/realtime/v1/models")}
    return {path: sorted(each["id"] for each in models) for path, models in found.items()}


def assert_realtime_has_its_own_models_and_customers(written: Pair) -> None:
    world, eu = written
    said = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}
    with eu.calling(eu) as http, world.calling(eu) as stranger:
        assert listed(http) == {"/v1/models": ["scripted"], "/realtime/v1/models": []}
        assert http.get("/v1/models/scripted-embed").status_code == 404
        assert http.post("/v1/embeddings", json={"model": "scripted-embed", "input": "hi"}).status_code in (404, 503)
        assert http.post("/v1/chat/completions", json=said).status_code == 200
        assert stranger.post("/v1/chat/completions", json=said).status_code == 403
    with world.calling(world) as http:
        assert listed(http) == {
            "/v1/models": ["scripted", "scripted-embed"],
            "/realtime/v1/models": ["scripted-embed"],
        }


def assert_estimates_can_be_cancelled_in_eu_alone(regions: Pair) -> None:
    for region, status in zip(regions, (409, 200), strict=True):
        job = region.submit([line(f"slow-{number}", "[[sleep 20000]] hello") for number in range(3)])
        until(
            lambda job=job, region=region: region.api("GET", f"/jobs/{job}"),
            lambda told: told["status"] == "estimating",
        )
        assert region.request("POST", f"/jobs/{job}/cancel")[0] == status
        if status == 200:
            assert region.api("GET", f"/jobs/{job}")["status"] == "cancelled"


@pytest.mark.slow
def test_nothing_of_a_region_is_in_another_or_in_what_they_share(regions: Pair) -> None:
    write(regions)
    assert_stores_are_apart(regions)
    assert_estimates_ran_at_home(regions)
    assert_webhooks_and_e_mails_say_nothing_of_rows(regions)
    assert_apis_tell_the_address_or_nothing(regions)
    assert_consoles_show_no_content(regions)
    assert_realtime_has_its_own_models_and_customers(regions)
    if WHOLE:
        assert_estimates_can_be_cancelled_in_eu_alone(regions)
