"""The import rules of docs/architecture.md, as .importlinter states them."""

import subprocess
import sys

from anex.settings.base import BASE_DIR

LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def test_every_import_contract_is_kept() -> None:
    command = [sys.executable, "-c", LINT, "--no-cache", "--no-logo"]
    done = subprocess.run(command, cwd=BASE_DIR, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
