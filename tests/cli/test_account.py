"""Who a command speaks for, and what becomes of the key."""

import json
import stat

from tests.cli.conftest import Shell
from tests.stack import Stack


def test_a_key_is_kept_in_a_file_of_its_owner_and_never_shown(stranger: Shell, stack: Stack) -> None:
    assert "Run anex login" in stranger("jobs", status=3).stderr
    refused = stranger("login", stdin="sk-000000000000wrong\n", status=3)
    file = stranger.home / ".config" / "anex" / "credentials.json"
    assert not file.exists()
    assert "key" in refused.stderr
    assert "available" in stranger("login", stdin=stack.secret + "\n").stdout
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert stranger.json("jobs", "-n", "1").keys() == {"data", "has_more"}
    elsewhere = stranger("jobs", status=3, ANEX_BASE_URL="http://127.0.0.1:1")
    assert "is for" in elsewhere.stderr
    assert stranger.json("logout") == {"removed": True}
    assert not file.exists()
    assert not any(stack.secret in text for text in stranger.printed)


def test_the_environment_wins_over_the_kept_key(stranger: Shell, stack: Stack) -> None:
    stranger("login", stdin=stack.secret)
    wrong = stranger("usage", status=3, ANEX_API_KEY="sk-000000000000wrong")
    assert "wrong" not in wrong.stdout + wrong.stderr.replace("wrong key", "")
    away = stranger.json("jobs", status=6, ANEX_API_KEY=stack.secret, ANEX_BASE_URL="http://127.0.0.1:1")
    assert "cannot be reached" in away["error"]["message"]
    assert json.loads((stranger.home / ".config/anex/credentials.json").read_text())["key"] == stack.secret
