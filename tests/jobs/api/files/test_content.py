"""What a file holds is sent whole or in ranges, from either store, until it is deleted."""

import httpx
import openai
import pytest

from accounts.services import freezes
from anex.core import clock
from anex.core.actors import system
from jobs.models import File, Input
from jobs.services import files
from jobs.storage import keys
from jobs.storage.interface import BLOCK_BYTES
from tests.factories import make_job, make_key, make_organization
from tests.jobs.api.files.conftest import Host, file_of, on_both_stores, row

CONTENT = file_of(*(row(number, pad="x" * 100_000) for number in range(BLOCK_BYTES // 100_000 + 3)))
SIZE = len(CONTENT)


@pytest.fixture
def path(host: Host) -> str:
    return f"/files/{host.upload(CONTENT, 'Zeilen ☃.jsonl').json()['id']}/content"


def asked(host: Host, path: str, value: str, **headers: str) -> httpx.Response:
    return host.http.get(path, headers={"Range": value} | {n.replace("_", "-"): v for n, v in headers.items()})


@on_both_stores
def test_whole_file_and_every_kind_of_range(host: Host, path: str) -> None:
    whole = host.http.get(path)
    assert (whole.status_code, whole.content) == (200, CONTENT)
    assert whole.headers["content-type"] == "application/octet-stream"
    assert whole.headers["content-disposition"].startswith("attachment; filename*=utf-8''Zeilen%20")
    assert (whole.headers["accept-ranges"], whole.headers["content-length"]) == ("bytes", str(SIZE))
    assert whole.headers["x-request-id"]
    etag = whole.headers["etag"]
    for value, start, end in (
        ("bytes=0-0", 0, 1),
        (f"bytes=100-{BLOCK_BYTES + 50}", 100, BLOCK_BYTES + 51),
        ("bytes=1000-", 1000, SIZE),
        ("bytes=-7", SIZE - 7, SIZE),
        (f"bytes=5-{SIZE * 2}", 5, SIZE),
        (f"bytes=-{SIZE * 2}", 0, SIZE),
    ):
        part = asked(host, path, value, If_Range=etag)
        assert (part.status_code, part.headers["content-range"]) == (206, f"bytes {start}-{end - 1}/{SIZE}")
        assert part.content == CONTENT[start:end]
    behind = asked(host, path, f"bytes={SIZE}-")
    assert (behind.status_code, behind.headers["content-range"]) == (416, f"bytes */{SIZE}")
    assert behind.json()["error"]["code"] == "range_not_satisfiable"
    head = host.http.head(path)
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(SIZE))


def test_range_that_makes_no_sense_or_of_another_version_is_answered_whole(host: Host, path: str) -> None:
    for value in ("bytes=9-3", "bytes=-", "lines=1-2", "bytes=0-1,5-6", "bytes=a-b"):
        assert asked(host, path, value).status_code == 200
    assert asked(host, path, "bytes=0-1", If_Range='"another"').status_code == 200


@on_both_stores
def test_file_past_its_days_or_without_its_object_is_404_that_says_it_was_deleted(host: Host, path: str) -> None:
    host.store.delete([Input.objects.get().key])
    for _ in range(2):
        answer = host.http.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "file_deleted")
        assert "was deleted: uploaded files are kept for 7 days" in answer.json()["error"]["message"]
        File.objects.update(expires_at=clock.now())
    with pytest.raises(openai.NotFoundError, match="was deleted"):
        host.openai.files.retrieve(path.split("/")[2])


def test_results_are_sent_under_the_name_of_their_batch(host: Host, owner) -> None:
    job = make_job(owner)
    file = files.deliver(job=job, part=File.Part.ERROR, stored=host.store.put(keys.result(job.pk), b"{}\n"))
    assert host.openai.files.retrieve(f"file-{file.pk.hex}").filename == f"batch_{job.pk.hex}_error.jsonl"
    assert host.openai.files.content(f"file-{file.pk.hex}").read() == b"{}\n"


def test_of_another_organization_or_region_or_without_the_scope_is_refused(host: Host, owner, path, settings) -> None:
    for key in (make_key(make_organization("Globex")), make_key(owner, scopes=frozenset({"batch:write"}))):
        answer = host.http.get(path, headers={"Authorization": key.header})
        assert answer.status_code == (403 if key.caller.organization_id == owner.pk else 404)
        assert "deleted" not in answer.text
    File.objects.update(region="eu")
    settings.ANEX_OTHER_REGION_URL = "https://eu.anex.test"
    for elsewhere in (path, path.removesuffix("/content")):
        answer = host.http.get(elsewhere)
        assert (answer.status_code, answer.json()["error"]["api"]) == (421, "https://eu.anex.test")


def test_is_answered_while_the_api_is_frozen(host: Host, path: str) -> None:
    freezes.switch(surface="batch", frozen=True, actor=system("tests"), reason="a migration")
    statuses = [host.http.get(p).status_code for p in (path, path.removesuffix("/content"), "/files")]
    assert statuses == [200, 200, 503]
