"""The import rules of docs/architecture.md, as .importlinter states them."""

import subprocess
import sys

from anex.settings.base import BASE_DIR

# In a process of its own: modules the test process has loaded would get in the linter's way.
LINT = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True, no_logo=True))"


def test_every_import_contract_is_kept() -> None:
    done = subprocess.run([sys.executable, "-c", LINT], cwd=BASE_DIR, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
