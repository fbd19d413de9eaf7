"""The lines of a job's page that poll it, run as they stand."""

import os
import shutil
import subprocess
import sys

import pytest

from accounts.models import Organization
from anex.console import snippets
from tests.browser.site import Site
from tests.console import scenes
from tests.factories import make_key

SAID = {"curl": '"status":"done"', "python": "done\n", "javascript": "done\n"}


@pytest.mark.parametrize("name", SAID)
def test_a_snippet_polls_a_job_until_it_is_over(site: Site, acme: Organization, name: str) -> None:
    code = {snippet.name: snippet.code for snippet in snippets.of(scenes.done(acme).pk)}[name]
    node = shutil.which("node")
    if name == "javascript" and node is None:
        pytest.skip("node is not installed")
    commands = {
        "curl": ["sh", "-c", code],
        "python": [sys.executable, "-c", code],
        "javascript": [str(node), "--input-type=module", "--eval", code],
    }
    environment = os.environ | {"ANEX_API_KEY": make_key(acme).secret}
    done = subprocess.run(commands[name], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert SAID[name] in done.stdout.replace(": ", ":")
