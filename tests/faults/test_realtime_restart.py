"""The database is killed under realtime requests: no answer without a bill, no bill without an answer."""

import subprocess
import sys

import pytest

from anex.settings.base import BASE_DIR


@pytest.mark.slow
def test_killed_database_loses_no_bill_and_is_soon_asked_again():
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.realtime_restart"],
        cwd=BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
