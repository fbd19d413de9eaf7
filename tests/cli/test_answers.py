"""Chats, models and spending."""

import json
import subprocess
import sys
import tomllib
from decimal import Decimal
from importlib import import_module

from anex.cli.app import app
from anex.cli.failures import Exit
from anex.cli.screen import document, plain
from anex.settings.base import BASE_DIR
from tests.cli.conftest import Shell
from tests.stack import Stack


def test_a_chat_is_streamed_and_says_what_it_took(anex: Shell, stack: Stack) -> None:
    said = anex("chat", "--model", "scripted", "hello there", "--max-tokens", "8")
    assert said.stdout.strip()
    assert "tokens in, 8 out" in said.stderr
    assert "$" in said.stderr
    document = anex.json("chat", "--model", "scripted", "--max-tokens", "8", stdin="hello there")
    assert document["content"] == said.stdout.removesuffix("\n")
    assert document["usage"]["completion_tokens"] == 8
    assert "nonsense" in anex.json("chat", "-m", "nonsense", "hi", status=1)["error"]["message"]

    def spent() -> Decimal:
        return Decimal(anex.json("usage", "--by", "surface")["total"]["cost_nano_usd"]) / 10**9

    before = spent()
    cost = Decimal(anex.json("chat", "-m", "scripted", "and again", "--max-tokens", "8")["cost_usd"])
    while spent() == before:
        pass
    assert spent() - before == cost


def test_models_are_listed_with_their_prices(anex: Shell) -> None:
    listed = {entry["id"]: entry for entry in anex.json("models")}
    assert listed["scripted"]["task"] == "chat"
    table = anex("models").stdout
    scripted = next(line for line in table.splitlines() if line.startswith("scripted "))
    assert scripted.split()[-2:] == ["$0.20", "$0.80"]


def test_usage_adds_up(anex: Shell) -> None:
    anex("chat", "-m", "scripted", "hi", "--max-tokens", "3")
    found = anex.json("usage", "--by", "day,model")
    assert sum(row["cost_nano_usd"] for row in found["data"]) == found["total"]["cost_nano_usd"]
    assert "available" in found["balance"]
    assert "total" in anex("usage").stdout
    assert "group_by takes" in anex("usage", "--by", "colour", status=1).stderr


def test_the_command_needs_nothing_of_the_platform() -> None:
    code = "import sys, anex.cli.app; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], cwd=BASE_DIR, capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"django", "celery", "aiohttp", "jobs", "accounts", "rest_framework"}


def test_the_page_tells_every_command_and_exit_status() -> None:
    page = (BASE_DIR / "anex" / "docs" / "pages" / "command-line.md").read_text()
    for command in app.registered_commands:
        assert f"`anex {command.callback.__name__}" in page
    for status in Exit:
        assert f"| {status.value} |" in page


def test_the_console_script_is_the_command() -> None:
    project = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]
    module, _, name = project["scripts"]["anex"].partition(":")
    assert callable(getattr(import_module(module), name))


def test_what_others_wrote_cannot_move_the_cursor() -> None:
    assert plain("a\x1b[2Jb\r\x07c\u202ed\te\n\ud800") == "a[2Jbcd\te\n"
    written = {"text": "\x9b2J\x1b]0;\u202e\ud83d"}
    assert document(written) == '{\n  "text": "\\u009b2J\\u001b]0;\\u202e\\ud83d"\n}'
    assert json.loads(document(written)) == written
