"""What `make demo` does when its job is refused."""

import asyncio
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from anex.demo.client import DemoError
from anex.demo.screen import Screen
from anex.supervisor import __main__ as program


class Platform:
    """One that has started."""

    url = "http://127.0.0.1:8000"
    supervisor = SimpleNamespace(names=["web"])
    state = SimpleNamespace(directory=Path("var"))

    async def prepare(self) -> None:
        """Nothing to do."""

    async def serve(self) -> None:
        """Nothing to do."""

    async def manage(self, *_: str) -> str:
        """The account."""
        return '{"email": "e", "password": "p", "key": "sk-k"}'


def test_a_platform_whose_job_is_refused_runs_on_unless_it_is_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: Any) -> str:
        raise DemoError("The batch API is frozen.")

    monkeypatch.setattr("anex.demo.story.Story.run", refuse)
    output = StringIO()
    screen = Screen(Console(file=output, width=100, color_system=None))
    assert asyncio.run(program._show(Platform(), screen, 1, once=False))
    assert "No job is shown: The batch API is frozen." in output.getvalue()
    assert "http://127.0.0.1:8000/batch/v1/jobs\n" in output.getvalue()
    with pytest.raises(DemoError):
        asyncio.run(program._show(Platform(), screen, 1, once=True))
