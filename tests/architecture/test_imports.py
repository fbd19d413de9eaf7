"""The import rules of docs/architecture.md, as .importlinter states them."""

import pytest
from importlinter.cli import lint_imports

from anex.settings.base import BASE_DIR


def test_every_import_contract_is_kept(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(BASE_DIR)
    status = lint_imports(no_cache=True, no_logo=True)
    assert status == 0, capsys.readouterr().out
