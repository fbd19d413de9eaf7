"""The command as people run it: a process of its own, against a running platform."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from anex.supervisor.valkey import free_port
from tests.cli.cutting_proxy import CuttingProxy
from tests.stack import ROOT, Stack


@dataclass
class Shell:
    """A person's terminal: a home of its own, and what every command there has printed."""

    home: Path
    environment: dict[str, str]
    printed: list[str] = field(default_factory=list)

    def __call__(
        self, *arguments: str, status: int = 0, stdin: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `anex` with these arguments; it must end with `status`."""
        done = subprocess.run(
            [sys.executable, "-m", "anex.cli", *arguments],
            cwd=self.home,
            env={**self.environment, **environment},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.printed += [done.stdout, done.stderr]
        assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
        return done

    def json(self, *arguments: str, status: int = 0, **options: str) -> Any:
        """What a command with --json prints: one document and nothing beside it."""
        return json.loads(self(*arguments, "--json", status=status, **options).stdout)

    def rows(self, count: int, text: str = "hello", name: str = "rows.jsonl") -> str:
        """A file of so many rows in the home; its name."""
        lines = [
            {"custom_id": f"row-{number}", "method": "POST", "url": "/v1/chat/completions"}
            | {"body": {"messages": [{"role": "user", "content": f"{text} {number}"}]}}
            for number in range(count)
        ]
        (self.home / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        return name


@pytest.fixture(scope="package")
def proxied() -> Iterator[tuple[Stack, CuttingProxy]]:
    """A platform, and the proxy that is the address it is known by."""
    folder = Path(tempfile.mkdtemp(prefix="anex-cli-", dir="/var/tmp"))
    proxy = CuttingProxy(free_port())
    public = {"ANEX_PUBLIC_URL": f"http://127.0.0.1:{proxy.own_port}"}
    with Stack(folder, durable=False, environment=public) as running:
        proxy.port = running.web_port
        yield running, proxy
    proxy.close()
    shutil.rmtree(folder)


@pytest.fixture
def proxy(proxied: tuple[Stack, CuttingProxy]) -> CuttingProxy:
    proxied[1].cuts.clear()
    proxied[1].heads.clear()
    return proxied[1]


@pytest.fixture
def stack(proxied: tuple[Stack, CuttingProxy]) -> Stack:
    return proxied[0]


@pytest.fixture
def stranger(proxy: CuttingProxy, tmp_path: Path) -> Shell:
    """Somebody who has not signed in."""
    return shell(tmp_path / "home", f"http://127.0.0.1:{proxy.own_port}")


def shell(home: Path, url: str) -> Shell:
    """A terminal with an empty home whose commands talk to this server."""
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANEX_", "XDG_", "DJANGO_"))}
    named = {"HOME": str(home), "PYTHONPATH": str(ROOT), "ANEX_BASE_URL": url}
    return Shell(home, {**kept, **named, "NO_COLOR": "1", "COLUMNS": "200"})


@pytest.fixture
def anex(stranger: Shell, stack: Stack) -> Shell:
    """Somebody with a key."""
    stranger.environment["ANEX_API_KEY"] = stack.secret
    return stranger
