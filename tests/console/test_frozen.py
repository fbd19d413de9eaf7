"""The console while the batch API is frozen: a banner on every page, no new work, results as ever."""

import pytest

from accounts.services import freezes
from anex.core.actors import system
from tests.console import scenes

BANNER = "frozen for maintenance"


@pytest.fixture
def frozen(db):
    freezes.switch(surface="batch", frozen=True, actor=system("tests"), reason="a migration")


@pytest.mark.parametrize("path", ["/dashboard", "/jobs", "/jobs/new", "/keys", "/credits", "/members"])
def test_every_page_says_so_while_it_lasts(ada, frozen, path):
    assert BANNER in ada.get(path).content.decode()
    freezes.switch(surface="batch", frozen=False, actor=system("tests"), reason="done")
    assert BANNER not in ada.get(path).content.decode()


@pytest.mark.parametrize("verb", ["approve", "cancel", "delete"])
def test_no_job_is_moved(ada, acme, frozen, verb):
    job = scenes.quoted(acme)
    ada.post(f"/jobs/{job.pk}/{verb}")
    job.refresh_from_db()
    assert (job.status, job.deletion_asked_at) == ("cost_ready", None)


def test_no_file_is_taken(ada, frozen):
    answer = ada.post("/jobs/new/upload")
    assert answer.status_code == 503
    assert BANNER in answer.json()["detail"]


def test_a_result_is_downloaded(ada, acme, frozen):
    assert ada.get(f"/jobs/{scenes.done(acme, result_key='tests/result').pk}/result").status_code == 302
