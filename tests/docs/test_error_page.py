"""The page of errors: the file in the repository is the one that the platform shows."""

import pytest
from django.test import Client

from anex.core.error_catalogue import CATALOGUE
from anex.docs import error_page
from anex.settings.base import BASE_DIR

pytestmark = pytest.mark.django_db


def test_file_is_written_from_the_catalogue() -> None:
    assert (BASE_DIR / "docs" / "errors.md").read_text() == error_page.markdown(), "run: python -m anex.docs.error_page"


def test_page_has_a_row_for_every_code() -> None:
    page = Client().get("/docs/errors").content.decode()
    assert all(f'id="{code}"' in page for code in CATALOGUE)


def test_programs_read_it_as_markdown() -> None:
    for answer in (
        Client().get("/docs/errors", headers={"Accept": "text/markdown"}),
        Client().get("/docs/errors?format=md"),
        Client().get("/docs/errors.md"),
    ):
        assert answer["Content-Type"] == "text/markdown; charset=utf-8"
        assert answer.content.decode() == error_page.markdown()
