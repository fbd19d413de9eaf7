"""The linter's security rules are on for the code of the platform, and what CI runs asks them."""

import subprocess
import sys

import pytest

from anex.settings.base import BASE_DIR

PLANTED = {
    "S307": "eval(input())",
    "S602": "import subprocess\nsubprocess.run(input(), shell=True)",
    "S506": "import yaml\nyaml.load(input())",
    "S324": "import hashlib\nhashlib.md5(b'')",
    "S105": "password = 'correct horse'",
    "S308": "from django.utils.safestring import mark_safe\nmark_safe(input())",
    "S608": "table = input()\nf'SELECT * FROM {table}'",
    "S113": "import requests\nrequests.get('https://a.example')",
}


@pytest.mark.parametrize("place", ["anex/planted.py", "jobs/services/planted.py", "anex/settings/planted.py"])
def test_whatever_is_dangerous_is_found(place):
    text = "\n".join(PLANTED.values()) + "\n"
    command = [sys.executable, "-m", "ruff", "check", "--output-format", "concise", "--stdin-filename", place, "-"]
    found = subprocess.run(command, input=text, capture_output=True, text=True, cwd=BASE_DIR, check=False).stdout
    assert [rule for rule in PLANTED if f" {rule} " not in found] == []


def test_ci_lints_first_and_fails_with_it():
    steps = (BASE_DIR / ".ci" / "run").read_text()
    assert "make lint || status=1" in steps
    assert "-m ruff check ." in (BASE_DIR / "Makefile").read_text()
