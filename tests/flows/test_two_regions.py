"""Two regions on one Postgres: no object of one is in the other, and nothing that they share holds what rows say."""

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests.flows.regions import Region, line, read_tables
from tests.https import Authority, serving
from tests.inference.media import clips

MARK = "qzx"


@pytest.fixture(scope="module")
def regions(authority: Authority) -> Iterator[tuple[Region, Region]]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, serving(authority) as customer:
        Path(folder).chmod(0o755)
        for name in ("world", "eu"):
            (Path(folder) / name).mkdir()
        with (
            Region("world", Path(folder, "world"), customer, authority) as world,
            Region("eu", Path(folder, "eu"), customer, authority, beside=world) as eu,
        ):
            yield world, eu


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
        deadline = time.monotonic() + 90
        while not reached(found := self.call("GET", path).json()):
            assert time.monotonic() < deadline, found
            time.sleep(0.1)
        return found

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
    kept_here = {
        found
        for table in ("jobs_job", "jobs_input", "jobs_file")
        for (found,) in region.query(f"SELECT id FROM {table} WHERE region = '{region.name}'")
    }
    assert region.owners() <= kept_here
    assert len(kept_here) >= 6


@pytest.mark.slow
def test_what_is_written_in_a_region_stays_in_its_store(regions: tuple[Region, Region]) -> None:
    world, eu = regions
    for region in regions:
        region.add_endpoint(f"/hook/{region.name}")
        with region.client as http:
            writer = Writer(region, http)
            writer.run_jobs()
            writer.run_batch()
            writer.upload_picture()
            writer.ask()
    with psycopg.connect(world.postgres.url(), autocommit=True) as connection:
        connection.execute("CHECKPOINT")
    assert_store_is_its_own(world, eu)
    assert_store_is_its_own(eu, world)
    assert not set(world.objects) & set(eu.objects)
    assert {table for table, row in read_tables(world) if MARK in row or MARK.encode().hex() in row} == set()
    for region, other in (regions, regions[::-1]):
        sent = region.journal.read_text()
        assert f"{MARK}-{region.name}-said" in sent
        assert f"{MARK}-{other.name}" not in sent
        assert MARK.encode() not in region.metrics()
        assert MARK.encode() not in region.kept()
        files = list(region.shared_files())
        assert {"web.log", "worker-0.log", "engine.log"} <= {file.name for file in files}
        assert [str(file) for file in files if MARK.encode() in file.read_bytes()] == []
    (job,) = eu.query("SELECT id FROM jobs_job WHERE region = 'eu' AND status = 'done' LIMIT 1")[0]
    away = httpx.get(
        f"http://127.0.0.1:{world.web_port}/batch/v1/jobs/{job}/result",
        headers={"Authorization": f"Bearer {eu.secret}"},
    )
    assert (away.status_code, away.json()["residency"]) == (421, "eu")
