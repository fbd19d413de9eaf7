"""Every sample of the docs does what it says: it is read off a running platform and run against it, page by page.

Samples of the shell build upon each other and run together, others each by itself; all of a page in one folder. What is
named after a client of `tests/clients` runs there, in that client's environment.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from anex.docs import library
from anex.docs.views.answers import PLACEHOLDER
from tests.clients.installs import find
from tests.docs.fences import fences
from tests.stack import ROOT, Stack, send

PROGRAMS = {"sh": "sample.sh", "python": "sample.py", "js": "sample.mjs"}
# A refusal is a failure of the sample, and what a program waits for comes at once here.
SHELL = f"""
curl() {{ command curl --fail-with-body "$@"; }}
anex() {{ PYTHONPATH={ROOT} {sys.executable} -P -m anex.cli "$@"; }}
"""
MORE = """
import django
django.setup()
from anex.core.actors import system
from inference.backends import registry
for model in ("scripted-embed", "scripted-decide"):
    registry.configure(model_id=model, base_url="http://127.0.0.1:{port}/v1", served_name=model, concurrency=8,
                       actor=system("setup"))
"""
# Operators' commands are in tests/docs/test_operators_pages.py and test_add_a_model.py, the command line in tests/cli.
OF_OPERATORS = {"Operate"}
SECRET = "whsec_" + "c2FtcGxlLXNlY3JldC1vZi10aGlydHktdHdvLWI="


@dataclass(frozen=True)
class Place:
    """The platform, and the folder of each page."""

    stack: Stack
    folder: Path

    def page(self, path: str) -> str:
        status, text = send(f"http://127.0.0.1:{self.stack.web_port}{path}.md", "GET")
        assert status == 200
        # The reader puts a key of their own in its place.
        return text.decode().replace(PLACEHOLDER, self.stack.secret)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with Stack(tmp_path_factory.mktemp("stack"), durable=False) as stack:
        stack.run(MORE.format(port=stack.engine_port))
        until_served(stack)
        yield Place(stack, tmp_path_factory.mktemp("pages"))


def until_served(stack: Stack) -> None:
    """A web process reads every two seconds which servers there are."""
    url, told = f"http://127.0.0.1:{stack.web_port}/v1/systemone", {"Authorization": f"Bearer {stack.secret}"}
    body, deadline = json.dumps({"model": "scripted-decide"}), time.monotonic() + 30
    # Of a model that is known and served the body is what is wrong.
    while send(url, "POST", body, told)[0] in (501, 503):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def samples(text: str) -> list[tuple[str, str, str]]:
    """Language, client (empty for none) and content of every sample."""
    found = []
    for info, content in fences(text):
        language, _, client = info.partition(" ")
        found.append((language, client, content))
    return found


def programs() -> list[tuple[str, str]]:
    pages = [page for page in library.pages() if page.group not in OF_OPERATORS and not page.file]
    return [
        (page.path, language)
        for page in pages
        for language in PROGRAMS
        if any(language == found and not client for found, client, _ in samples(page.source))
    ]


def delivery(folder: Path) -> dict[str, str]:
    """A webhook as it arrives, for the samples that check one."""
    now, body = datetime.now(UTC), json.dumps({"type": "test", "data": {"job_id": None}})
    (folder / "body.json").write_text(body)
    return {
        "WEBHOOK_SECRET": SECRET,
        "WEBHOOK_ID": "delivery",
        "WEBHOOK_TIMESTAMP": str(int(now.timestamp())),
        "WEBHOOK_SIGNATURE": f"v1,bm90aGluZw== {Webhook(SECRET).sign('delivery', now, body)}",
    }


@pytest.mark.slow
@pytest.mark.parametrize(("path", "language"), programs(), ids=lambda value: value.removeprefix("/docs/"))
def test_samples_of_a_page_run(place: Place, path: str, language: str) -> None:
    folder = place.folder / path.rpartition("/")[2]
    folder.mkdir(exist_ok=True)
    blocks = [content for found, client, content in samples(place.page(path)) if found == language and not client]
    assert blocks
    told = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "ANEX_URL": f"http://127.0.0.1:{place.stack.web_port}",
        "ANEX_API_KEY": place.stack.secret,
        **delivery(folder),
    }
    for text in [SHELL + "\n".join(blocks)] if language == "sh" else blocks:
        program = folder / PROGRAMS[language]
        program.write_text(text)
        done = subprocess.run(
            [*interpreter(language), str(program)],
            cwd=folder,
            env=told,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.strip()


def interpreter(language: str) -> list[str]:
    node = shutil.which("node")
    if language == "js" and node is None:
        pytest.skip("there is no node here")
    return {"sh": ["bash", "-euo", "pipefail"], "python": [sys.executable], "js": [str(node)]}[language]


def test_samples_of_clients_run_in_their_suites() -> None:
    """`make test-clients` runs them; here only that each has its suite and says its two settings."""
    clients = {client.folder.name for client in find().values()}
    (page,) = (page for page in library.pages() if page.slug == "openai")
    told = [(client, content) for _, client, content in samples(page.source) if client]
    assert {client for client, _ in told} <= clients
    for client, content in told:
        assert re.search(r"base_url|api_base|baseURL", content), client
        assert "ANEX_API_KEY" in content, client
    # These ask for decisions, which no framework does.
    assert clients - {client for client, _ in told} == {"jevcompat", "typesafe"}


def test_no_sample_is_in_a_language_that_nobody_runs() -> None:
    known = {*PROGRAMS, "json", "jsonl", "http", "yaml", "ini", "console", "text"}
    for page in library.pages():
        assert {language for language, _, _ in samples(page.source)} <= known, page.path
