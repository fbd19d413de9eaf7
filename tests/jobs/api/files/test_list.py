"""The list of files as SDKs page through it, and what it takes."""

import openai
import pytest

from accounts.models import Organization
from jobs.models import File
from jobs.services import files
from jobs.storage.interface import Stored
from tests.factories import KeyInHand, make_job, make_key
from tests.jobs.api.conftest import client_of
from tests.jobs.api.files.conftest import Host, file_of, row
from tests.jobs.test_files import uploaded

PATH = "/v1/files"


@pytest.fixture
def key(acme: Organization) -> KeyInHand:
    return make_key(acme)


def ids(answer) -> list[str]:
    assert answer.status_code == 200, answer.content
    assert answer.headers["x-request-id"]
    return [file["id"] for file in answer.json()["data"]]


def test_sdk_pages_yield_each_file_once_while_files_are_added(host: Host, owner: Organization) -> None:
    wanted = [f"file-{uploaded(owner).pk.hex}" for _ in range(5)]
    for order in ("desc", "asc"):
        seen = []
        for file in host.openai.files.list(limit=2, order=order, purpose="batch"):
            seen.append(file.id)
            if order == "desc":
                uploaded(owner)
        assert seen[: len(wanted)] == wanted if order == "asc" else seen == wanted[::-1]
        assert len(seen) == len(set(seen))


def test_sdk_is_told_that_files_are_not_deleted(host: Host) -> None:
    made = host.openai.files.create(file=file_of(row(1)), purpose="batch")
    with pytest.raises(openai.APIStatusError) as caught:
        host.openai.files.delete(made.id)
    assert (caught.value.status_code, caught.value.code) == (405, "file_deletion_not_supported")
    assert host.openai.files.retrieve(made.id) == made


def test_page_is_told_with_its_ends(acme, key) -> None:
    api = client_of(key)
    empty = api.get(PATH).json()
    assert empty == {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}
    for _ in range(3):
        uploaded(acme)
    page = api.get(PATH, {"limit": 2}).json()
    assert page["has_more"] is True
    assert [page["first_id"], page["last_id"]] == [file["id"] for file in page["data"]]
    rest = api.get(PATH, {"limit": 2, "after": page["last_id"]}).json()
    assert (len(rest["data"]), rest["has_more"]) == (1, False)


def test_purposes_are_told_apart(acme, key) -> None:
    api, file, job = client_of(key), uploaded(acme), make_job(acme)
    result = files.deliver(job=job, part=File.Part.OUTPUT, stored=Stored("jobs/x", 1, "e"))
    assert ids(api.get(PATH, {"purpose": "batch"})) == [f"file-{file.pk.hex}"]
    assert ids(api.get(PATH, {"purpose": "batch_output"})) == [f"file-{result.pk.hex}"]
    assert ids(api.get(PATH, {"purpose": "vision"})) == []
    assert len(ids(api.get(PATH))) == 2


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("query", "status", "param"),
    [
        ({"limit": "0"}, 400, "limit"),
        ({"limit": "10001"}, 400, "limit"),
        ({"limit": "ten"}, 400, "limit"),
        ({"limit": "-1"}, 400, "limit"),
        ({"limit": ""}, 400, "limit"),
        ({"order": "newest"}, 400, "order"),
        ({"after": "file-1"}, 404, None),
        ({"limit": "10000", "unknown": "1"}, 200, None),
    ],
)
def test_query_that_makes_no_sense_is_refused_with_its_field(key, query, status, param) -> None:
    answer = client_of(key).get(PATH, query)
    assert answer.status_code == status
    if status != 200:
        assert answer.json()["error"]["param"] == param


def test_list_takes_a_fixed_number_of_queries(acme, key, django_assert_num_queries) -> None:
    api = client_of(key)
    for count in (1, 5):
        for _ in range(count):
            uploaded(acme)
        api.get(PATH)
        with django_assert_num_queries(3):
            api.get(PATH)
