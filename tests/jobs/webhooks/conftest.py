"""A receiver over HTTPS on this machine, which the platform takes for a public one."""

import pytest

from anex.core import safe_http
from tests.https import Server


@pytest.fixture
def receiver(https_server, https_rules, monkeypatch) -> Server:
    monkeypatch.setattr(safe_http, "PUBLIC", https_rules)
    return https_server
