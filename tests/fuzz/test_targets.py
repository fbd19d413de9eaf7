"""The targets of the fuzzing on their first inputs, and that a fault in one is noticed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS, seeds


@pytest.mark.parametrize("name", TARGETS)
def test_first_inputs_are_read_or_refused(name: str) -> None:
    fed = [TARGETS[name](data) for data in [b"", b"\xff" * 40, *seeds(name)]]
    assert len(fed) > 20


def test_a_target_that_raises_ends_the_fuzzing(tmp_path: Path) -> None:
    script = tmp_path / "broken.py"
    fault = "lambda data: 1 // (data != b'')"
    script.write_text(f"import atheris\natheris.Setup(['x', '-runs=1000'], {fault})\natheris.Fuzz()\n")
    ended = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, check=False)
    assert ended.returncode != 0
    assert b"ZeroDivisionError" in ended.stderr + ended.stdout
