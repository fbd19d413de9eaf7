"""The page "Self-hosting" is true: its settings start production, its commands exist and do what they say."""

import argparse
import re
import secrets
import shlex
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command, get_commands, load_command_class

from anex.docs import calculator, library
from anex.settings.base import BASE_DIR
from anex.supervisor.postgres import Postgres
from anex.supervisor.valkey import Valkey, free_port
from inference.engines import arguments
from tests import clusters
from tests.docs.fences import fences

COMMANDS = [
    line
    for page in library.pages()
    if page.group == "Operate" and not page.file
    for language, content in fences(page.source)
    if language == "console"
    for line in content.splitlines()
]


def settings_of_the_page(tmp_path: Path, database: str, valkey: str) -> dict[str, str]:
    (page,) = (page for page in library.pages() if page.slug == "self-hosting")
    ((_, block),) = ((language, content) for language, content in fences(page.source) if language == "ini")
    named = dict(line.split("=", 1) for line in block.splitlines())
    assert len(named["SECRET_KEY"]) >= 50
    own = {"DATABASE_URL": database, "REDIS_URL": valkey, "ANEX_STORAGE_DIR": str(tmp_path / "objects")}
    own |= {"SECRET_KEY": secrets.token_hex(32), "PATH": str(Path(sys.executable).parent), "HOME": str(tmp_path)}
    return named | own


@pytest.mark.slow
def test_settings_and_commands_of_the_page_start_production(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    postgres, valkey = Postgres(tmp_path / "postgres", settings=clusters.FAST), Valkey(tmp_path / "valkey")
    try:
        clusters.migrated(postgres)
        postgres.start()
        valkey.start()
        told = settings_of_the_page(tmp_path, postgres.url(), valkey.url())
        done = [
            run(line, told) for line in COMMANDS if line.startswith("python manage.py") and "createsuper" not in line
        ]
        assert any("models, no problem found" in text for text in done)
        assert starts("python -m anex.serve --host 0.0.0.0 --port 8000", told)
    finally:
        valkey.stop()
        postgres.stop()


def run(line: str, told: dict[str, str]) -> str:
    # Files are collected into the source, which the tests leave as it is.
    words = [sys.executable, "-W", "ignore", *shlex.split(line)[1:]] + (
        ["--dry-run"] if "collectstatic" in line else []
    )
    done = subprocess.run(words, cwd=BASE_DIR, env=told, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def starts(line: str, told: dict[str, str]) -> bool:
    """Whether a line of the page, on another port, says that requests are answered."""
    assert line in COMMANDS
    words = shlex.split(line.replace("8000", str(free_port())))
    with subprocess.Popen(
        [sys.executable, *words[1:]],
        cwd=BASE_DIR,
        env=told,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout
        said = any("READY" in text for text in process.stdout)
        process.terminate()
        return said


def test_every_command_of_the_page_exists() -> None:
    for line in COMMANDS:
        program, *words = shlex.split(line)
        if program == "python" and words[0] == "manage.py":
            load_command_class(get_commands()[words[1]], words[1])
        elif program == "make":
            assert re.search(rf"^{words[0]}:", (BASE_DIR / "Makefile").read_text(), re.MULTILINE)
        else:
            assert line.startswith(("pip install -r requirements", "python -m anex.serve", "celery -A anex "))


@pytest.mark.django_db
def test_options_and_figures_of_gpu_workers_are_those_of_the_page() -> None:
    text = (BASE_DIR / "docs" / "gpu-workers.md").read_text()
    parser = argparse.ArgumentParser(allow_abbrev=False)
    arguments.declare(parser)
    (options,) = re.findall(r'ANEX_ENGINE_OPTIONS="(.*)"', text)
    parser.parse_args(shlex.split(options))
    assert re.search(r"^celery -A anex worker -Q inference\.acme-chat -n acme-chat@%h$", text, re.MULTILINE)
    printed = StringIO()
    call_command("scale", stdout=printed)
    assert printed.getvalue().splitlines()[0] == re.findall(r"```text\n(.*)\n", text)[0]


def test_calculator_is_sent_as_much_of_a_file_as_it_reads() -> None:
    script = (BASE_DIR / "static" / "docs" / "calculator.js").read_text()
    assert f"const MOST_BYTES = {calculator.MOST_BYTES // 1024} * 1024;" in script
