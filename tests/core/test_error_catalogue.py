"""The catalogue of errors is complete: what is raised is in it, what is in it is raised, a test provokes each code."""

import ast
import re
import string
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from accounts import plans
from anex.core import openai_errors
from anex.core.error_catalogue import CATALOGUE, SECTIONS
from anex.core.errors import AnexError, Conflict, InvalidRequest, TooManyRequests, Unavailable
from anex.core.retrying import headers
from anex.guard import HeadTooLarge, UrlTooLong
from anex.settings.base import BASE_DIR
from inference.refusals import SENTENCES

# Refused before any surface reads the request: `invalid_request` by HTTP's own statuses.
BEFORE_ANY_SURFACE = (UrlTooLong, HeadTooLarge)
SOURCES = ("accounts", "anex", "billing", "inference", "jobs", "realtime")
# Model servers of ours, which speak to the platform alone.
APART = "engines"
PLANS = "plan_has_no_"


@cache
def sources(*folders: str) -> list[str]:
    paths = [path for folder in folders for path in (BASE_DIR / folder).rglob("*.py") if APART not in path.parts]
    return [path.read_text() for path in paths if path.name not in (Path(__file__).name, "error_catalogue.py")]


def words(*folders: str) -> set[str]:
    """The texts of one word."""
    return {word for source in sources(*folders) for word in re.findall(r'"([a-z_]+)"', source)}


def given_codes() -> Iterator[str]:
    """The texts that are passed as `code`, to any call, or are given that name."""
    for node in (node for source in sources(*SOURCES) if "code" in source for node in ast.walk(ast.parse(source))):
        is_passed = isinstance(node, ast.keyword) and node.arg == "code"
        is_named = isinstance(node, ast.Assign) and [getattr(name, "id", "") for name in node.targets] == ["code"]
        value = node.value if is_passed or is_named else None  # type: ignore[attr-defined]
        choices = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
        yield from (told.value for told in choices if isinstance(told, ast.Constant) and isinstance(told.value, str))


def kinds(kind: type[AnexError] = AnexError) -> Iterator[type[AnexError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from kinds(below)


def test_every_code_stands_once() -> None:
    assert sum(map(len, SECTIONS.values())) == len(CATALOGUE)
    assert all(set(code) <= set(string.ascii_lowercase + "_") for code in CATALOGUE)


def test_every_code_that_is_raised_is_in_the_catalogue() -> None:
    raised = set(given_codes())
    assert len(raised) > 20
    assert sorted(raised - set(CATALOGUE) - set(SENTENCES)) == []
    for kind in kinds():
        if kind.__module__.startswith(SOURCES) and kind not in BEFORE_ANY_SURFACE:
            assert CATALOGUE[kind.code].status == kind.status or kind.code == "insufficient_credits", kind


def test_every_code_of_the_catalogue_is_raised_and_provoked_by_a_test() -> None:
    raised = words(*SOURCES) | {f"{PLANS}{surface}" for surface in (*plans.SURFACES, "api_generate")}
    assert sorted(set(CATALOGUE) - raised) == []
    assert sorted(set(CATALOGUE) - words("tests")) == []


def test_what_an_error_knows_better_counts() -> None:
    told = openai_errors.of(InvalidRequest("No.", code="output_limit_reached", extra={"charged": "stands"}))
    assert (told["retry"], told["charged"]) == ("no", "stands")
    used = Conflict("Used.", code="in_flight", retry_after=3, extra={"retry": "new_key"})
    assert openai_errors.of(used)["retry_after"] == 3
    assert headers(used) == [(b"retry-after", b"3"), (b"x-should-retry", b"false")]


@pytest.mark.parametrize(("status", "retry"), [(400, "no"), (418, "no"), (429, "same"), (500, "same"), (503, "same")])
def test_code_of_a_library_is_judged_by_its_status(status: int, retry: str) -> None:
    told = openai_errors.error_object(status, "Hm.", "of_a_library")
    assert (told["code"], told["retry"], told["charged"]) == ("of_a_library", retry, False)


def test_wait_is_told_in_the_body_and_the_header() -> None:
    full = TooManyRequests("Full.", retry_after=7)
    assert openai_errors.of(full)["retry_after"] == 7
    assert headers(full) == [(b"retry-after", b"7")]
    away = Unavailable("Away.")
    assert (openai_errors.of(away)["retry_after"], headers(away)) == (1, [(b"retry-after", b"1")])
    off = Unavailable("Off.", code="vendor_disabled")
    assert ("retry_after" in openai_errors.of(off), headers(off)) == (False, [(b"x-should-retry", b"false")])
