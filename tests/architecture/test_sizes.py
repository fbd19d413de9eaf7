"""Files and functions stay small enough to be read in one go."""

import ast
from collections.abc import Iterator
from pathlib import Path

from anex.settings.base import BASE_DIR

MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 60
FOLDERS = ("anex", "accounts", "billing", "inference", "jobs", "realtime", "tests")


def sources() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from (path for path in (BASE_DIR / folder).rglob("*.py") if "migrations" not in path.parts)


def test_no_file_is_longer_than_400_lines() -> None:
    lengths = {str(path.relative_to(BASE_DIR)): len(path.read_text().splitlines()) for path in sources()}
    assert len(lengths) > 50
    assert {name: length for name, length in lengths.items() if length > MOST_LINES_OF_A_FILE} == {}


def test_no_function_is_longer_than_60_lines() -> None:
    long = [
        f"{path.relative_to(BASE_DIR)}:{node.lineno} {node.name}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= MOST_LINES_OF_A_FUNCTION
    ]
    assert long == []
