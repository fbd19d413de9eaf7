"""What stays on the terminal at the end: commands that can be copied as they are."""

import ast
import io
from pathlib import Path

import pytest
from rich.console import Console

from anex.demo.screen import Screen


@pytest.mark.parametrize("width", [40, 80, 300])
def test_the_commands_at_the_end_can_be_copied_at_any_width(width: int) -> None:
    output = io.StringIO()
    Screen(Console(file=output, width=width, color_system=None)).invitation(
        url="http://127.0.0.1:8000",
        email="demo@example.com",
        password="p-1",
        key="sk-0123456789ab" + "x" * 40,
        job_id="0f7d0f7d-0000-4000-8000-000000000000",
        model_id="tiny",
        state=Path("var"),
    )
    text = output.getvalue()
    curl = next(line for line in text.splitlines() if line.startswith("curl"))
    assert curl.rstrip().endswith("/batch/v1/jobs/0f7d0f7d-0000-4000-8000-000000000000")
    snippet = text[text.index("from openai") :]
    ast.parse("\n".join(line.rstrip() for line in snippet.splitlines()))
    assert 'base_url="http://127.0.0.1:8000/v1"' in snippet
    assert 'create(model="tiny", messages=messages)' in snippet
    assert ".venv/bin/anex chat -m tiny 'Name three rivers in Europe.'\n" in text
