"""Acme with a hundred dollars, Globex with none; a store in a folder of its own."""

from pathlib import Path

import pytest

from accounts.models import Organization
from tests.factories import grant_credits, make_organization


@pytest.fixture(autouse=True)
def _own_store(settings, tmp_path: Path) -> None:
    settings.ANEX_STORAGE_DIR = tmp_path / "objects"


@pytest.fixture(autouse=True)
def _progress_of_this_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.selectors.jobs.KEPT_SECONDS", 0)


@pytest.fixture
def acme(db) -> Organization:
    organization = make_organization("Acme")
    grant_credits(organization)
    return organization


@pytest.fixture
def globex(db) -> Organization:
    return make_organization("Globex")
