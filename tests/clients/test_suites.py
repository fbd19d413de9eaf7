"""Each client is pinned, described with its licence, and has tests of both kinds."""

import re

import pytest

from tests.clients.installs import SUITES, Client, find

README = (SUITES / "README.md").read_text()
CLIENTS = find()


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_client_is_pinned_described_and_has_smoke_tests(client: Client) -> None:
    assert re.fullmatch(r"\S+ \d[\w.]*", client.version)
    assert re.search(rf"^\| {re.escape(client.folder.name)} \|.*\| \S.* \|$", README, re.MULTILINE)
    assert client.has("smoke")


def test_every_folder_is_a_client() -> None:
    folders = {path.name for path in SUITES.iterdir() if path.is_dir() and path.name[0].isalpha()}
    assert folders == {client.folder.name for client in CLIENTS.values()}
