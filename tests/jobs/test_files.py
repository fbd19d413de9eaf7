"""Files of the OpenAI-compatible host in the database: found by their organization alone, until they are deleted."""

from datetime import timedelta
from uuid import uuid4

import pytest

from anex.core import clock
from anex.core.actors import system
from anex.core.errors import NotFound
from inference.requests.batch_lines import Target
from jobs.lifecycle import Status
from jobs.models import File, Input
from jobs.selectors import files as selectors
from jobs.services import erasing, files, retention
from jobs.storage import keys, store
from jobs.storage.interface import Stored
from tests.factories import make_job, make_organization

pytestmark = pytest.mark.django_db

LINE = b"{}\n"


@pytest.fixture
def organization():
    return make_organization()


@pytest.fixture(autouse=True)
def own_store(settings, tmp_path):
    settings.ANEX_STORAGE_DIR = tmp_path


def uploaded(organization, name="rows.jsonl") -> File:
    file_id = uuid4()
    stored = store().put(keys.ingest_attempt(organization.pk, file_id), LINE)
    store().put(keys.file_name(organization.pk, file_id), name.encode())
    return files.create(
        file_id=file_id,
        organization_id=organization.pk,
        region="world",
        target=Target("/v1/chat/completions", "smollm2-135m"),
        stored=stored,
        actor=system("tests"),
    )


def delivered(job, part=File.Part.OUTPUT) -> File:
    return files.deliver(job=job, part=part, stored=Stored(keys.result(job.pk), 3, "e"))


class TestOneFile:
    def test_is_a_ready_input_and_known_by_its_wire_id(self, organization):
        file = uploaded(organization)
        found = selectors.get(organization.pk, f"file-{file.pk.hex}")
        assert (found.pk, found.input.status, found.input.size_bytes) == (file.pk, Input.State.READY, 3)
        assert selectors.object_of(found) == (found.input.key, found.input.etag)

    @pytest.mark.parametrize("wrong", ["file-", "file-1", "x", "file-{id}x", "{id}", "file-{upper}", "file-{dashed}"])
    def test_that_is_named_otherwise_is_unknown(self, organization, wrong):
        file = uploaded(organization)
        with pytest.raises(NotFound):
            selectors.get(organization.pk, wrong.format(id=file.pk.hex, upper=file.pk.hex.upper(), dashed=str(file.pk)))

    def test_of_another_organization_is_unknown(self, organization):
        file = uploaded(organization)
        with pytest.raises(NotFound, match="No file"):
            selectors.get(make_organization("Globex").pk, selectors.wire_id(file))

    def test_whose_days_are_over_is_said_to_be_deleted(self, organization):
        file = uploaded(organization)
        File.objects.update(expires_at=clock.now())
        with pytest.raises(NotFound, match="was deleted: uploaded files are kept for 7 days"):
            selectors.get(organization.pk, selectors.wire_id(file))

    def test_of_an_erased_job_is_deleted_with_its_name_and_its_results(self, organization):
        file = uploaded(organization)
        job = make_job(organization, input=file.input, status=Status.DONE)
        result = delivered(job)
        erasing.erase(job)
        for gone in (file, result):
            with pytest.raises(NotFound, match="was deleted"):
                selectors.get(organization.pk, selectors.wire_id(gone))
        assert list(store().list("")) == []

    def test_past_its_days_leaves_no_object_and_no_entry_of_the_index(self, organization):
        uploaded(organization)
        assert retention.expire_inputs(clock.now() + timedelta(days=7, minutes=11)) == 1
        assert list(store().list("")) == []
        assert not File.objects.filter(purged_at=None).exists()


class TestNames:
    def test_are_as_uploaded_and_those_of_results_say_whose_they_are(self, organization):
        file, job = uploaded(organization, "Zeilen ☃.jsonl"), make_job(organization)
        both = [file, delivered(job, File.Part.ERROR)]
        assert selectors.names(both) == ["Zeilen ☃.jsonl", f"batch_{job.pk.hex}_error.jsonl"]


class TestPages:
    @pytest.mark.parametrize("ascending", [False, True])
    def test_hold_every_file_once_though_files_are_added_and_deleted(self, organization, ascending):
        made = [uploaded(organization) for _ in range(5)]
        File.objects.update(created_at=made[0].created_at)
        seen, after, more = [], None, True
        while more:
            page = selectors.page(organization.pk, after=after, limit=2, ascending=ascending)
            seen += [file.pk for file in page.files]
            after, more = selectors.wire_id(page.files[-1]), page.has_more
            File.objects.filter(pk=seen[-1]).update(purged_at=clock.now())
            if not ascending:
                uploaded(organization)
        assert seen == sorted((file.pk for file in made), reverse=not ascending)

    def test_hold_one_purpose_of_one_organization_in_this_region(self, organization):
        file, result = uploaded(organization), delivered(make_job(organization))
        uploaded(make_organization("Globex"))
        eu = uploaded(organization)
        File.objects.filter(pk=eu.pk).update(region="eu")
        found = {
            purpose: [f.pk for f in selectors.page(organization.pk, purpose=purpose, limit=9).files]
            for purpose in ("batch", "batch_output", None, "other")
        }
        assert found == {
            "batch": [file.pk],
            "batch_output": [result.pk],
            None: [result.pk, file.pk],
            "other": [],
        }

    def test_behind_an_unknown_file_are_refused(self, organization):
        with pytest.raises(NotFound):
            selectors.page(organization.pk, after="file-1", limit=9)
